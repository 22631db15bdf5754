//! Prometheus metrics, from one table: what is encoded is what `docs/reference/metrics.md` describes.

mod ours;
mod ray;

use crate::read_model::{Counters, ReadModel};
use ostler_wire::Status;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;

/// OpenMetrics, which Prometheus reads since 2.5.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One metric. The name of a counter is written with `_total` behind it.
struct Metric {
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
    samples: fn(&Facts, &mut Samples),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

/// What is measured.
struct Facts {
    status: Status,
    counters: Counters,
}

/// Values of one metric, each with the values of its labels.
#[derive(Default)]
struct Samples(Vec<(Vec<String>, f64)>);

impl Samples {
    fn add(&mut self, labels: &[&str], value: f64) {
        self.0.push((labels.iter().map(|&label| label.to_owned()).collect(), value));
    }
}

fn table() -> impl Iterator<Item = &'static Metric> {
    ours::METRICS.iter().chain(ray::METRICS)
}

/// All metrics as text.
pub(crate) fn text(model: Arc<dyn ReadModel>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(model)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Scrape(Arc<dyn ReadModel>);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let facts = Facts { status: self.0.status(), counters: self.0.counters() };
        for metric in table() {
            let mut samples = Samples::default();
            (metric.samples)(&facts, &mut samples);
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            let mut family = encoder.encode_descriptor(metric.name, metric.help, None, kind)?;
            for (values, value) in samples.0 {
                let labels: Vec<(&str, String)> = metric.labels.iter().copied().zip(values).collect();
                if labels.is_empty() {
                    sample(&mut family, metric.kind, value)?;
                } else {
                    sample(&mut family.encode_family(&labels)?, metric.kind, value)?;
                }
            }
        }
        Ok(())
    }
}

fn sample(encoder: &mut MetricEncoder<'_>, kind: Kind, value: f64) -> Result<(), fmt::Error> {
    match kind {
        Kind::Counter => encoder.encode_counter::<NoLabelSet, f64, f64>(&value, None),
        Kind::Gauge => encoder.encode_gauge(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// The page is made from the table. `UPDATE_DOCS=1` writes it.
    #[test]
    fn the_page_of_metrics_is_fresh() {
        let page = page();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &page).expect("the page can be written");
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == page, "docs/reference/metrics.md is stale: run the tests with UPDATE_DOCS=1");
    }

    fn page() -> String {
        let mut page = String::from(
            "# Metrics\n\nGenerated from the code. `GET /metrics` serves them in the OpenMetrics text format; a \
             counter's name ends in `_total` there.\n",
        );
        let parts: [(&str, &str, &[Metric]); 2] = [
            ("Ostler's own", "", ours::METRICS),
            (
                "The names of Ray's own autoscaler",
                "For workloads of kind `ray`, so that dashboards made for Ray's autoscaler go on working. \
                 `SessionName` is the session of the cluster, `NodeType` the pool.\n\n",
                ray::METRICS,
            ),
        ];
        for (title, intro, metrics) in parts {
            let _ = write!(
                page,
                "\n## {title}\n\n{intro}| metric | type | labels | meaning |\n|---|---|---|---|\n"
            );
            for metric in metrics {
                let (suffix, kind) = match metric.kind {
                    Kind::Counter => ("_total", "counter"),
                    Kind::Gauge => ("", "gauge"),
                };
                let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
                let _ = writeln!(
                    page,
                    "| `{}{suffix}` | {kind} | {} | {} |",
                    metric.name,
                    labels.join(", "),
                    metric.help
                );
            }
        }
        page
    }
}
