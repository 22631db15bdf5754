//! What Ostler tells the cluster's users: events on pods and nodes, and the status.

use crate::make::{Deployment, Pool};
use crate::world::World;
use expect_test::expect;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::Api;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

impl World {
    /// The status in the ConfigMap, once it says that a node runs and three pods wait.
    async fn settled_status(&self) -> String {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let map = maps.get_opt("ostler-status").await.expect("it can be asked");
            let status = map.and_then(|map| map.data?.remove("status")).unwrap_or_default();
            if status.contains("pods waiting: 3") && status.contains("1 running") {
                return status;
            }
            assert!(Instant::now() < patience, "{status}\n{}", self.report());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What events of a reason say, once there are so many; each text once.
    async fn told(&self, reason: &str, count: usize) -> String {
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let lines = self.events(reason).await;
            if lines.len() >= count {
                let lines: BTreeSet<String> = lines.iter().map(|line| self.plain(line)).collect();
                return lines.into_iter().collect::<Vec<_>>().join("\n");
            }
            assert!(Instant::now() < patience, "{lines:?}\n{}", self.report());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// With names that are made anew each time replaced, and a line for each pool.
    fn plain(&self, text: &str) -> String {
        let mut text = text.replace(&self.namespace, "NS");
        let apps = self.see(|seen| -> Vec<(String, String)> {
            let of = |pod: &k8s_openapi::api::core::v1::Pod| {
                Some((pod.name_any(), pod.labels().get("app")?.clone()))
            };
            seen.pods.values().filter_map(of).collect()
        });
        for (pod, app) in apps {
            text = text.replace(&pod, &format!("{app}-POD"));
        }
        text.replace("; ", ";\n    ")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_nodes_and_the_status_are_told() {
    let special = Pool::of("special", 2).with("taints", json!(["dedicated=special:NoSchedule"]));
    let thin = Pool::of("thin", 1).with("resources", json!({"cpu": 200, "memory": "64Mi", "pods": 110}));
    let mut world = World::new(&[Pool::of("general", 5), special, thin]).await;
    world.deploy(Deployment::of("huge", 2, "100")).await;
    world.deploy(Deployment::of("picky", 1, "1").on("disk", "fast")).await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("a pod runs", |seen| seen.running("web") == 1).await;

    expect![[r#"
        huge-POD: no pool would do: general is too small (cpu: asks 100, a machine has 4);
            special has the taint dedicated=special:NoSchedule;
            thin is too small (memory: asks 134217728, a machine has 67108864)
        picky-POD: no pool would do: general lacks the label disk as it is asked for;
            special has the taint dedicated=special:NoSchedule;
            thin lacks the label disk as it is asked for"#]]
    .assert_eq(&world.told("NotTriggerScaleUp", 3).await);
    expect!["web-POD: pool general grows for it"].assert_eq(&world.told("TriggeredScaleUp", 1).await);
    let status = world.settled_status().await;
    expect![[r#"
        pods waiting: 3
        pods with a place: 0
        pools:
          general (0 to 5): 1 running
          special (0 to 2): none
          thin (0 to 1): none
        no place:
          2 × NS/huge-POD and its like (cpu 100, memory 134217728): general is too small (cpu: asks 100, a machine has 4);
            special has the taint dedicated=special:NoSchedule;
            thin is too small (memory: asks 134217728, a machine has 67108864)
          1 × NS/picky-POD and its like (cpu 1, memory 134217728): general lacks the label disk as it is asked for;
            special has the taint dedicated=special:NoSchedule;
            thin lacks the label disk as it is asked for
    "#]].assert_eq(&world.plain(&status));

    world.scale("web", 0).await;
    world.until("its node goes", |seen| seen.nodes.is_empty()).await;
    world.finish(&["huge", "picky"]).await;
}
