//! What a machine's processes get to know: pure, from the launch to an argument list and variables.

use crate::config::{Command, LocalConfig, LocalTemplate};
use ostler_model::{CloudId, FailureClass, LaunchToken, NodeKind, Quantity};
use ostler_provider::{LaunchSpec, ProviderError};
use std::collections::BTreeMap;

/// Which state directory a process belongs to.
pub(crate) const STATE_ID: &str = "OSTLER_STATE_ID";
/// Which launch it comes from.
pub(crate) const TOKEN: &str = "OSTLER_LAUNCH_TOKEN";
pub(crate) const WORKLOAD: &str = "OSTLER_WORKLOAD";
pub(crate) const POOL: &str = "OSTLER_POOL";
pub(crate) const INSTANCE: &str = "OSTLER_INSTANCE_ID";
pub(crate) const ATTEMPT: &str = "OSTLER_ATTEMPT";
pub(crate) const KIND: &str = "OSTLER_NODE_KIND";

/// Resources that have a variable, and an option of `ray start`, of their own.
const NAMED: [&str; 4] = ["CPU", "GPU", "memory", "object_store_memory"];

/// A command ready to be started.
#[derive(Debug, PartialEq)]
pub(crate) struct Start {
    /// Program and arguments, never empty.
    pub(crate) argv: Vec<String>,
    /// Over what Ostler itself has.
    pub(crate) environment: BTreeMap<String, String>,
}

/// The command of one machine. Later variables win: the provider's, the pool's, the workload's, ours.
pub(crate) fn start(
    config: &LocalConfig,
    site: &str,
    id: &CloudId,
    spec: &LaunchSpec,
    token: &LaunchToken,
) -> Result<Start, ProviderError> {
    let template = LocalTemplate::from_value(spec.pool.as_str(), &spec.template)?;
    let mut environment = config.environment.0.clone();
    environment.extend(template.environment.0);
    environment.extend(spec.environment.clone());
    environment.extend(identity(site, id, spec, token));
    environment.extend(capacity(spec));
    let argv = match template.command.as_ref().or(config.command.as_ref()) {
        Some(Command::Shell(text)) => vec!["/bin/sh".into(), "-c".into(), text.clone()],
        Some(Command::Argv(argv)) if !argv.is_empty() => {
            argv.iter().map(|argument| fill(argument, &environment)).collect::<Result<_, _>>()?
        }
        _ => return Err(no_command(spec)),
    };
    Ok(Start { argv, environment })
}

fn identity(
    site: &str,
    id: &CloudId,
    spec: &LaunchSpec,
    token: &LaunchToken,
) -> impl Iterator<Item = (String, String)> {
    let kind = if spec.kind == NodeKind::Head { "head" } else { "worker" };
    let pairs = [
        (STATE_ID, site),
        (TOKEN, token.as_str()),
        (WORKLOAD, spec.workload.as_str()),
        (POOL, spec.pool.as_str()),
        (INSTANCE, spec.instance.as_str()),
        (ATTEMPT, &spec.attempt.to_string()),
        (KIND, kind),
        ("RAY_CLOUD_INSTANCE_ID", id.as_str()),
        ("RAY_NODE_TYPE_NAME", spec.pool.as_str()),
        ("RAY_CLOUD_INSTANCE_TYPE_NAME", &spec.instance_type),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter()
}

fn capacity(spec: &LaunchSpec) -> BTreeMap<String, String> {
    let amount = |name| spec.resources.get(name);
    let others: BTreeMap<_, _> = spec
        .resources
        .iter()
        .filter(|(name, _)| !NAMED.contains(&name.as_ref()))
        .map(|(name, amount)| (name.to_string(), amount.to_f64()))
        .collect();
    let labels: Vec<_> = spec.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut variables = BTreeMap::from([
        ("OSTLER_NUM_CPUS".to_owned(), amount("CPU").to_string()),
        ("OSTLER_NUM_GPUS".to_owned(), amount("GPU").to_string()),
        ("OSTLER_RESOURCES".to_owned(), serde_json::json!(others).to_string()),
        ("OSTLER_LABELS".to_owned(), labels.join(",")),
    ]);
    for (name, resource) in
        [("OSTLER_MEMORY", "memory"), ("OSTLER_OBJECT_STORE_MEMORY", "object_store_memory")]
    {
        if !amount(resource).is_zero() {
            variables.insert(name.to_owned(), whole(amount(resource)));
        }
    }
    variables
}

/// Whole units; a part of a byte is nothing.
fn whole(amount: Quantity) -> String {
    (amount.as_ten_thousandths() / Quantity::ONE.as_ten_thousandths()).to_string()
}

/// Replaces each `${NAME}` of an argument.
fn fill(argument: &str, environment: &BTreeMap<String, String>) -> Result<String, ProviderError> {
    let mut filled = String::new();
    let mut rest = argument;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or_else(|| bad_argument(argument, "a } is missing"))?;
        let value =
            environment.get(name).ok_or_else(|| bad_argument(argument, &format!("no variable {name:?}")))?;
        filled.push_str(before);
        filled.push_str(value);
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn bad_argument(argument: &str, why: &str) -> ProviderError {
    let message = format!("command: {why} in {argument:?}; give the variable a value under `environment`");
    ProviderError::new(FailureClass::Permanent, "OSTLER-P106", message)
}

fn no_command(spec: &LaunchSpec) -> ProviderError {
    let message =
        format!("pool {}: nothing to run; give `command` to the pool or to its local provider", spec.pool);
    ProviderError::new(FailureClass::Permanent, "OSTLER-P105", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn spec(template: serde_json::Value) -> LaunchSpec {
        let amounts = [("CPU", "4"), ("memory", "8589934592.5"), ("TPU", "0.5"), ("node_a", "1")]
            .map(|(name, amount)| (name, amount.parse().expect("an amount")));
        LaunchSpec {
            workload: "w".into(),
            pool: "p".into(),
            instance: "i".into(),
            attempt: 2,
            kind: NodeKind::Worker,
            instance_type: "big".into(),
            resources: amounts.into_iter().collect(),
            labels: [("zone".into(), "a".into()), ("team".into(), "blue".into())].into(),
            tags: BTreeMap::new(),
            template,
            environment: BTreeMap::from([
                ("RAY_ADDRESS".into(), "127.0.0.1:6379".into()),
                ("A".into(), "3".into()),
            ]),
        }
    }

    fn started(template: serde_json::Value) -> Result<Start, ProviderError> {
        let mut config = LocalConfig::new("/tmp", Command::Shell("usual".into()));
        config.environment = Environment([("A".into(), "1".into()), ("B".into(), "1".into())].into());
        start(&config, "site", &"local-i.2".into(), &spec(template), &"i.2".into())
    }

    #[test]
    fn a_machine_knows_who_it_is() {
        let start = started(json!(null)).expect("a good launch");
        assert_eq!(start.argv, ["/bin/sh", "-c", "usual"]);
        let lines: Vec<_> =
            start.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        expect![[r#"
            A=3
            B=1
            OSTLER_ATTEMPT=2
            OSTLER_INSTANCE_ID=i
            OSTLER_LABELS=team=blue,zone=a
            OSTLER_LAUNCH_TOKEN=i.2
            OSTLER_MEMORY=8589934592
            OSTLER_NODE_KIND=worker
            OSTLER_NUM_CPUS=4
            OSTLER_NUM_GPUS=0
            OSTLER_POOL=p
            OSTLER_RESOURCES={"TPU":0.5,"node_a":1.0}
            OSTLER_STATE_ID=site
            OSTLER_WORKLOAD=w
            RAY_ADDRESS=127.0.0.1:6379
            RAY_CLOUD_INSTANCE_ID=local-i.2
            RAY_CLOUD_INSTANCE_TYPE_NAME=big
            RAY_NODE_TYPE_NAME=p
        "#]]
        .assert_eq(&lines.concat());
    }

    #[test]
    fn an_argument_is_filled() {
        let template =
            json!({"command": ["run", "--pool=${OSTLER_POOL}-${B}", "$HOME"], "environment": {"B": "2"}});
        assert_eq!(started(template).expect("a good launch").argv, ["run", "--pool=p-2", "$HOME"]);
    }

    /// A template that is refused, and what is said about it.
    fn check(template: serde_json::Value, expected: Expect) {
        expected.assert_eq(&started(template).expect_err("a mistake").to_string());
    }

    #[test]
    fn mistakes_are_named() {
        check(
            json!({"command": ["run", "${NOPE}"]}),
            expect![[
                r#"command: no variable "NOPE" in "${NOPE}"; give the variable a value under `environment` [OSTLER-P106]"#
            ]],
        );
        check(
            json!({"command": ["run", "${NOPE"]}),
            expect![[
                r#"command: a } is missing in "${NOPE"; give the variable a value under `environment` [OSTLER-P106]"#
            ]],
        );
        check(
            json!({"command": []}),
            expect![
                "pool p: nothing to run; give `command` to the pool or to its local provider [OSTLER-P105]"
            ],
        );
        check(
            json!({"comand": "x"}),
            expect!["pool p: unknown field `comand`, expected `command` or `environment` [OSTLER-P101]"],
        );
        check(
            json!({"environment": {"A=B": "x"}}),
            expect![[r#"environment: "A=B" cannot be the name of a variable; rename it [OSTLER-P101]"#]],
        );
    }
}
