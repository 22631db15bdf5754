//! A cloud behind the protocol, in memory, for tests: groups that want machines, machines that take their
//! time, creations that fail, faults on order, and a count of all calls. It is as careless as real servers
//! are: a repeated end lowers a group's size again.

use crate::proto as p;
use crate::proto::cloud_provider_server::{CloudProvider, CloudProviderServer};
use crate::proto::instance_status::InstanceState;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status};

/// A running server on a free port of the loopback device. It ends when it is dropped.
#[derive(Debug)]
pub struct Cloud {
    address: SocketAddr,
    world: Shared,
    serving: JoinHandle<()>,
}

/// All there is.
#[derive(Debug, Default)]
pub struct World {
    /// By id.
    pub fleets: BTreeMap<String, Fleet>,
    /// What changed something, one line for each call: `increase g +1`, `delete g id`, `decrease g -1`.
    pub changes: Vec<String>,
    /// How often each call was made, by its name in the protocol.
    pub calls: BTreeMap<&'static str, u32>,
    /// What the next calls of a name do instead.
    pub faults: BTreeMap<&'static str, VecDeque<Fault>>,
}

/// What a call does instead.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// What it should.
    Nothing,
    /// Nothing, and says so.
    Status(Code),
    /// Nothing, and never answers.
    Hang,
    /// What it should, and never answers.
    LostAnswer,
    /// What it should, so much later, and never answers.
    Late(Duration),
}

/// A node group.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// Machines at least.
    pub min: i32,
    /// Machines at most.
    pub max: i32,
    /// Machines that it wants.
    pub target: i32,
    /// Machines that it has.
    pub machines: Vec<Machine>,
    /// From wanted to listed.
    pub appears: Duration,
    /// From listed to running.
    pub boots: Duration,
    /// From an accepted end to where the listing shows it.
    pub notices: Duration,
    /// From there to gone.
    pub ends: Duration,
    /// A change of the size is shown so much later.
    pub lag: Duration,
    /// Nothing comes.
    pub dry: bool,
    /// What comes cannot be made: code, message, class.
    pub failing: Option<(&'static str, &'static str, i32)>,
    /// What is under way.
    pub course: Course,
}

/// What is under way in a group.
#[derive(Debug, Clone, Default)]
pub struct Course {
    coming: Vec<Instant>,
    sizes: Vec<(Instant, i32)>,
    made: u32,
}

/// A machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its id.
    pub id: String,
    /// From when on it runs.
    pub ready: Instant,
    /// When its end was accepted.
    pub ended: Option<Instant>,
    /// It could not be made.
    pub failed: Option<(&'static str, &'static str, i32)>,
}

impl Default for Fleet {
    fn default() -> Self {
        let quick = Duration::from_millis(20);
        Self {
            min: 0,
            max: 100,
            target: 0,
            machines: Vec::new(),
            appears: quick,
            boots: quick,
            notices: Duration::ZERO,
            ends: quick,
            lag: Duration::ZERO,
            dry: false,
            failing: None,
            course: Course::default(),
        }
    }
}

impl Fleet {
    /// Machines that were there before anybody looked.
    pub fn with(mut self, ids: &[&str]) -> Self {
        let machine =
            |id: &&str| Machine { id: (*id).to_owned(), ready: Instant::now(), ended: None, failed: None };
        self.machines.extend(ids.iter().map(machine));
        self.target += ids.len() as i32;
        self
    }

    /// Machines whose end nobody asked for.
    pub fn alive(&self) -> impl Iterator<Item = &Machine> {
        self.machines.iter().filter(|machine| machine.ended.is_none())
    }

    fn resize(&mut self, by: i32, now: Instant) {
        if self.course.sizes.is_empty() {
            self.course.sizes.push((now - self.lag, self.target));
        }
        self.target += by;
        self.course.sizes.push((now, self.target));
    }

    fn shown_target(&self, now: Instant) -> i32 {
        let old = self.course.sizes.iter().rev().find(|(at, _)| *at + self.lag <= now);
        if self.lag.is_zero() { self.target } else { old.map_or(self.target, |(_, size)| *size) }
    }

    /// Lets time pass: what should be there comes, what should not goes.
    fn tick(&mut self, group: &str, now: Instant) {
        let over = self.notices + self.ends;
        self.machines.retain(|machine| machine.ended.is_none_or(|at| at + over > now));
        let alive = self.alive().count();
        let wanted = self.target.max(0) as usize;
        let coming = wanted.saturating_sub(alive);
        self.course.coming.truncate(coming);
        self.course.coming.resize(coming, now + self.appears);
        if alive > wanted {
            // The group ends machines of its own choice, as groups do.
            let victims = self.machines.iter_mut().filter(|machine| machine.ended.is_none());
            victims.take(alive - wanted).for_each(|machine| machine.ended = Some(now));
        }
        while !self.dry && self.course.coming.first().is_some_and(|at| *at <= now) {
            self.course.coming.remove(0);
            self.course.made += 1;
            let id = format!("cloud:///{group}/m-{}", self.course.made);
            let machine = Machine { id, ready: now + self.boots, ended: None, failed: self.failing };
            self.machines.push(machine);
        }
    }

    fn list(&self, now: Instant) -> Vec<p::Instance> {
        let one = |machine: &Machine| {
            let deleting = machine.ended.is_some_and(|at| at + self.notices <= now);
            let state = if deleting {
                InstanceState::InstanceDeleting
            } else if machine.failed.is_some() || machine.ready > now {
                InstanceState::InstanceCreating
            } else {
                InstanceState::InstanceRunning
            };
            let error_info = machine.failed.map(|(code, message, class)| p::InstanceErrorInfo {
                error_code: code.into(),
                error_message: message.into(),
                instance_error_class: class,
            });
            let status = p::InstanceStatus { instance_state: state.into(), error_info };
            p::Instance { id: machine.id.clone(), status: Some(status) }
        };
        self.machines.iter().map(one).collect()
    }
}

impl World {
    /// The next calls of this name do so.
    pub fn fault(&mut self, call: &'static str, faults: &[Fault]) {
        self.faults.entry(call).or_default().extend(faults);
    }

    /// How often this call was made.
    pub fn count(&self, call: &str) -> u32 {
        self.calls.get(call).copied().unwrap_or_default()
    }

    fn fleet(&mut self, id: &str) -> Result<&mut Fleet, Status> {
        self.fleets.get_mut(id).ok_or_else(|| Status::not_found(format!("no group {id:?}")))
    }
}

impl Cloud {
    /// Starts a server with these groups.
    pub async fn start(fleets: impl IntoIterator<Item = (&'static str, Fleet)>) -> Self {
        Self::serve(fleets, None).await
    }

    /// The same, with TLS.
    pub async fn start_tls(
        fleets: impl IntoIterator<Item = (&'static str, Fleet)>,
        tls: ServerTlsConfig,
    ) -> Self {
        Self::serve(fleets, Some(tls)).await
    }

    async fn serve(
        fleets: impl IntoIterator<Item = (&'static str, Fleet)>,
        tls: Option<ServerTlsConfig>,
    ) -> Self {
        let fleets = fleets.into_iter().map(|(id, fleet)| (id.to_owned(), fleet)).collect();
        let world = Shared(Arc::new(Mutex::new(World { fleets, ..World::default() })));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).expect("certificates of the test are good");
        }
        let router = server.add_service(CloudProviderServer::new(world.clone()));
        let serving = tokio::spawn(async move {
            let served = router.serve_with_incoming(TcpIncoming::from(listener)).await;
            served.expect("the server serves");
        });
        Self { address, world, serving }
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Looks at the world, and changes it.
    pub fn world<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        act(&mut self.world.now())
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The world as the calls share it.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<World>>);

impl Shared {
    /// After time has passed.
    fn now(&self) -> MutexGuard<'_, World> {
        let mut world = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        world.fleets.iter_mut().for_each(|(id, fleet)| fleet.tick(id, now));
        world
    }

    /// A call: counted, with the fault that is due.
    async fn call<T>(
        &self,
        name: &'static str,
        act: impl FnOnce(&mut World) -> Result<T, Status> + Send + 'static,
    ) -> Result<Response<T>, Status> {
        let fault = {
            let mut world = self.now();
            *world.calls.entry(name).or_default() += 1;
            world.faults.get_mut(name).and_then(VecDeque::pop_front)
        };
        match fault {
            Some(Fault::Status(code)) => return Err(Status::new(code, "as it was told to")),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Late(after)) => {
                let world = self.clone();
                // Goes on though the caller hangs up.
                drop(tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    drop(act(&mut world.now()));
                }));
                return std::future::pending().await;
            }
            Some(Fault::LostAnswer | Fault::Nothing) | None => {}
        }
        let done = act(&mut self.now());
        // A change is at work at once.
        drop(self.now());
        if matches!(fault, Some(Fault::LostAnswer)) {
            std::future::pending::<()>().await;
        }
        done.map(Response::new)
    }
}

#[tonic::async_trait]
impl CloudProvider for Shared {
    async fn node_groups(
        &self,
        _: Request<p::NodeGroupsRequest>,
    ) -> Result<Response<p::NodeGroupsResponse>, Status> {
        let one = |(id, fleet): (&String, &Fleet)| p::NodeGroup {
            id: id.clone(),
            min_size: fleet.min,
            max_size: fleet.max,
            debug: String::new(),
        };
        self.call("NodeGroups", move |world| {
            Ok(p::NodeGroupsResponse { node_groups: world.fleets.iter().map(one).collect() })
        })
        .await
    }

    async fn refresh(&self, _: Request<p::RefreshRequest>) -> Result<Response<p::RefreshResponse>, Status> {
        self.call("Refresh", move |_| Ok(p::RefreshResponse {})).await
    }

    async fn node_group_target_size(
        &self,
        request: Request<p::NodeGroupTargetSizeRequest>,
    ) -> Result<Response<p::NodeGroupTargetSizeResponse>, Status> {
        let id = request.into_inner().id;
        self.call("NodeGroupTargetSize", move |world| {
            let target_size = world.fleet(&id)?.shown_target(Instant::now());
            Ok(p::NodeGroupTargetSizeResponse { target_size })
        })
        .await
    }

    async fn node_group_increase_size(
        &self,
        request: Request<p::NodeGroupIncreaseSizeRequest>,
    ) -> Result<Response<p::NodeGroupIncreaseSizeResponse>, Status> {
        let p::NodeGroupIncreaseSizeRequest { id, delta } = request.into_inner();
        self.call("NodeGroupIncreaseSize", move |world| {
            let fleet = world.fleet(&id)?;
            if delta <= 0 {
                return Err(Status::invalid_argument("the size is to grow"));
            }
            if fleet.target + delta > fleet.max {
                return Err(Status::out_of_range("beyond the group's maximum"));
            }
            fleet.resize(delta, Instant::now());
            world.changes.push(format!("increase {id} +{delta}"));
            Ok(p::NodeGroupIncreaseSizeResponse {})
        })
        .await
    }

    async fn node_group_delete_nodes(
        &self,
        request: Request<p::NodeGroupDeleteNodesRequest>,
    ) -> Result<Response<p::NodeGroupDeleteNodesResponse>, Status> {
        let p::NodeGroupDeleteNodesRequest { id, nodes } = request.into_inner();
        self.call("NodeGroupDeleteNodes", move |world| {
            let fleet = world.fleet(&id)?;
            let now = Instant::now();
            for node in &nodes {
                let known = fleet.machines.iter_mut().find(|machine| machine.id == node.provider_id);
                let machine = known.ok_or_else(|| Status::invalid_argument("a node of another group"))?;
                if fleet.target <= fleet.min {
                    return Err(Status::failed_precondition("the group's minimum is reached"));
                }
                machine.ended.get_or_insert(now);
                fleet.resize(-1, now);
            }
            world.changes.extend(nodes.iter().map(|node| format!("delete {id} {}", node.name)));
            Ok(p::NodeGroupDeleteNodesResponse {})
        })
        .await
    }

    async fn node_group_decrease_target_size(
        &self,
        request: Request<p::NodeGroupDecreaseTargetSizeRequest>,
    ) -> Result<Response<p::NodeGroupDecreaseTargetSizeResponse>, Status> {
        let p::NodeGroupDecreaseTargetSizeRequest { id, delta } = request.into_inner();
        self.call("NodeGroupDecreaseTargetSize", move |world| {
            let fleet = world.fleet(&id)?;
            if delta >= 0 {
                return Err(Status::invalid_argument("the size is to shrink"));
            }
            if fleet.target + delta < fleet.alive().count() as i32 {
                return Err(Status::failed_precondition("that would end machines"));
            }
            fleet.resize(delta, Instant::now());
            world.changes.push(format!("decrease {id} {delta}"));
            Ok(p::NodeGroupDecreaseTargetSizeResponse {})
        })
        .await
    }

    async fn node_group_nodes(
        &self,
        request: Request<p::NodeGroupNodesRequest>,
    ) -> Result<Response<p::NodeGroupNodesResponse>, Status> {
        let id = request.into_inner().id;
        self.call("NodeGroupNodes", move |world| {
            let instances = world.fleet(&id)?.list(Instant::now());
            Ok(p::NodeGroupNodesResponse { instances })
        })
        .await
    }
}
