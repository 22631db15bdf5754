//! What each line of a scenario means.

use super::words::{Words, time};
use super::{Scenario, WORK_MAX};
use crate::happening::{CrashMode, CrashPoint, Happening};
use crate::ray::{Kind, Rejoin, Work};
use ostler_model::{
    FailureClass, Millis, Policy, Pool, PoolId, ProviderId, Scoring, Shape, Strategy, Timeouts, Timestamp,
};
use ostler_provider::fake::{Call, Fault, Habits, Trouble};
use serde::de::DeserializeOwned;

type Read<T = ()> = Result<T, String>;

/// Reads one line; an empty one says nothing.
pub(super) fn read(scenario: &mut Scenario, line: &str) -> Read {
    let mut words = Words::of(line);
    let Ok(first) = words.word("") else { return Ok(()) };
    match first {
        "seed" => scenario.seed = words.parse("a number")?,
        "poll" => scenario.poll = Millis(words.time()?.0.max(1)),
        "restart" => scenario.restart_in = words.time()?,
        "end" => scenario.end = Timestamp(words.time()?.0),
        "latency" => {
            let word = words.word("a time, or two with .. between")?;
            let (low, high) = word.split_once("..").unwrap_or((word, word));
            scenario.latency = (time(low)?, time(high)?);
        }
        "knob" => knob(&mut scenario.policy, &mut words)?,
        "cloud" => cloud(scenario, &mut words)?,
        "ray" => ray(scenario, &mut words)?,
        "pool" => pool(scenario, &mut words)?,
        "at" => {
            let at = Timestamp(words.time()?.0);
            happening(scenario, at, &mut words)?;
        }
        "crash" => {
            let output = words.parse("the number of an output")?;
            let mode = words.word("before, done or ghosts")?;
            let known = CrashMode::ALL.into_iter().find(|known| known.name() == mode);
            let mode = known.ok_or_else(|| format!("{mode:?}: write before, done or ghosts"))?;
            scenario.crashes.push(CrashPoint { output, mode });
        }
        other => return Err(format!("{other:?} begins no line of a scenario")),
    }
    words.end()
}

pub(super) fn default_policy() -> Policy {
    Policy {
        head_pool: Some(PoolId::from("head")),
        idle_timeout: Some(Millis::secs(10)),
        launch_backoff: Millis::secs(5),
        launch_backoff_max: Millis::secs(20),
        drain_grace: Millis::secs(20),
        timeouts: Timeouts {
            request: Millis::secs(20),
            allocate: Millis::secs(30),
            install: Millis::secs(30),
            drain_request: Millis::secs(20),
            terminate: Millis::secs(20),
            ..Timeouts::default()
        },
        ..Policy::default()
    }
}

/// The head is there from the beginning, and nothing is launched of its pool.
pub(super) fn head_pool(provider: &ProviderId) -> Pool {
    Pool {
        id: PoolId::from("head"),
        workload: crate::world::workload(),
        provider: provider.clone(),
        resources: ostler_model::Resources::default(),
        labels: ostler_model::Labels::new(),
        min: 0,
        max: 0,
        idle_timeout: None,
        priority: 0,
        launch_hash: "1".to_owned(),
        instance_type: String::new(),
        node: None,
    }
}

fn knob(policy: &mut Policy, words: &mut Words<'_>) -> Read {
    let name = words.word("the name of a knob")?;
    match name {
        "scoring" => policy.scoring = named::<Scoring>(words, "a scoring policy: ray or ray-exact")?,
        "max_workers" => policy.max_workers = Some(words.parse("a number")?),
        "idle_timeout" => policy.idle_timeout = optional(words)?,
        "pending_idle_timeout" => policy.pending_idle_timeout = optional(words)?,
        "upscaling_speed_percent" => policy.upscaling_speed_percent = words.parse("a number")?,
        "max_concurrent_launches" => policy.max_concurrent_launches = words.parse("a number")?,
        "replace_outdated" => policy.replace_outdated = words.parse("true or false")?,
        "launch_backoff" => policy.launch_backoff = words.time()?,
        "launch_backoff_max" => policy.launch_backoff_max = words.time()?,
        "availability_recovery" => policy.availability_recovery = words.time()?,
        "drain_grace" => policy.drain_grace = words.time()?,
        "install" => policy.install = words.parse("true or false")?,
        "request_timeout" => policy.timeouts.request = words.time()?,
        "request_retries" => policy.timeouts.request_retries = words.parse("a number")?,
        "allocate_timeout" => policy.timeouts.allocate = words.time()?,
        "drain_request_timeout" => policy.timeouts.drain_request = words.time()?,
        "terminate_timeout" => policy.timeouts.terminate = words.time()?,
        "node_missing_timeout" => policy.timeouts.node_missing = words.time()?,
        _ => return Err(format!("{name:?} is no knob of a scenario")),
    }
    Ok(())
}

fn optional(words: &mut Words<'_>) -> Read<Option<Millis>> {
    if words.takes("never") { Ok(None) } else { words.time().map(Some) }
}

/// A word that is the name of a value in our recordings.
fn named<T: DeserializeOwned>(words: &mut Words<'_>, what: &str) -> Read<T> {
    let word = words.word(what)?;
    serde_json::from_value(serde_json::Value::from(word)).map_err(|_| format!("{word:?} is not {what}"))
}

fn cloud(scenario: &mut Scenario, words: &mut Words<'_>) -> Read {
    let id = ProviderId::from(words.word("the name of a cloud")?);
    let mut habits = scenario.clouds.get(&id).copied().unwrap_or_default();
    loop {
        if words.takes("appears") {
            habits.appears_in = words.time()?;
        } else if words.takes("boots") {
            habits.boots_in = words.time()?;
        } else if words.takes("stops") {
            habits.stops_in = words.time()?;
        } else {
            break;
        }
    }
    scenario.clouds.insert(id, Habits { ..habits });
    Ok(())
}

fn ray(scenario: &mut Scenario, words: &mut Words<'_>) -> Read {
    let habits = &mut scenario.ray;
    loop {
        if words.takes("joins") {
            habits.joins_in = words.time()?;
        } else if words.takes("shows") {
            habits.shows_in = words.time()?;
        } else if words.takes("drains") {
            habits.drains_in = words.time()?;
        } else if words.takes("notices") {
            habits.notices_in = words.time()?;
        } else {
            return Ok(());
        }
    }
}

fn pool(scenario: &mut Scenario, words: &mut Words<'_>) -> Read {
    let id = PoolId::from(words.word("the name of a pool")?);
    let mut pool = Pool {
        instance_type: id.to_string(),
        resources: words.resources()?,
        id,
        max: 10,
        ..head_pool(&ProviderId::from("cloud"))
    };
    loop {
        if words.takes("min") {
            pool.min = words.parse("a number")?;
        } else if words.takes("max") {
            pool.max = words.parse("a number")?;
        } else if words.takes("idle") {
            pool.idle_timeout = Some(words.time()?);
        } else if words.takes("priority") {
            pool.priority = words.parse("a number")?;
        } else if words.takes("labels") {
            pool.labels = words.labels()?;
        } else if words.takes("from") {
            pool.provider = ProviderId::from(words.word("the name of a cloud")?);
        } else {
            break;
        }
    }
    if !scenario.clouds.contains_key(&pool.provider) {
        return Err(format!("there is no cloud {}: name it on a line before this one", pool.provider));
    }
    if scenario.pools.iter().any(|known| known.id == pool.id) {
        return Err(format!("pool {} is there twice", pool.id));
    }
    scenario.pools.push(pool);
    Ok(())
}

fn happening(scenario: &mut Scenario, at: Timestamp, words: &mut Words<'_>) -> Read {
    let what = words.word("what happens")?;
    let happening = match what {
        "tasks" | "gang" | "floor" => return work(scenario, at, what, words),
        "refuse" => Happening::Refuse {
            pool: known_pool(scenario, words)?,
            class: named::<FailureClass>(words, "a class of failure, such as out_of_capacity")?,
            lasts: lasts(words)?,
        },
        "fault" => fault(scenario, words)?,
        "unlisted" => Happening::Unlisted(known_cloud(scenario, words)?, lasts(words)?),
        "kill" => Happening::Kill(known_pool(scenario, words)?),
        "replace-head" => Happening::ReplaceHead { down: words.time()?, rejoin: rejoin(words)? },
        "never-join" => Happening::NeverJoin(words.parse("a number")?),
        "reject-drains" => Happening::RejectDrains(words.parse("a number")?),
        "silence" => Happening::Silence(lasts(words)?),
        "unknown-status" => Happening::UnknownStatus(lasts(words)?),
        "bad-records" => Happening::BadRecords(lasts(words)?),
        "bounds" => Happening::Bounds {
            pool: known_pool(scenario, words)?,
            min: words.parse("a minimum")?,
            max: words.parse("a maximum")?,
        },
        "relaunch" => Happening::Relaunch(known_pool(scenario, words)?),
        "drop" => Happening::Drop(known_pool(scenario, words)?),
        "commit-fails" => {
            Happening::CommitFails { times: words.parse("a number")?, written: words.takes("written") }
        }
        "crash" => Happening::Crash,
        _ => return Err(format!("{what:?} is nothing that can happen")),
    };
    scenario.plot.push((at, happening));
    Ok(())
}

fn lasts(words: &mut Words<'_>) -> Read<Millis> {
    words.expect("for")?;
    words.time()
}

fn known_pool(scenario: &Scenario, words: &mut Words<'_>) -> Read<PoolId> {
    let word = words.word("the name of a pool")?;
    let known = scenario.pools.iter().find(|pool| pool.id.as_str() == word);
    known.map(|pool| pool.id.clone()).ok_or_else(|| format!("there is no pool {word:?} above this line"))
}

fn known_cloud(scenario: &Scenario, words: &mut Words<'_>) -> Read<ProviderId> {
    let word = words.word("the name of a cloud")?;
    let known = scenario.clouds.keys().find(|id| id.as_str() == word);
    known.cloned().ok_or_else(|| format!("there is no cloud {word:?} above this line"))
}

fn rejoin(words: &mut Words<'_>) -> Read<Rejoin> {
    match words.word("same, anew or never")? {
        "same" => words.time().map(Rejoin::Same),
        "anew" => words.time().map(Rejoin::Anew),
        "never" => Ok(Rejoin::Never),
        other => Err(format!("{other:?}: write same, anew or never")),
    }
}

/// `fault CLOUD list|launch|terminate refuse CLASS|lose|slow TIME|lag TIME [times N] [pool POOL]`
fn fault(scenario: &Scenario, words: &mut Words<'_>) -> Read<Happening> {
    let provider = known_cloud(scenario, words)?;
    let call = match words.word("list, launch or terminate")? {
        "list" => Call::List,
        "launch" => Call::Launch,
        "terminate" => Call::Terminate,
        other => return Err(format!("{other:?}: write list, launch or terminate")),
    };
    let trouble = match words.word("refuse, lose, slow or lag")? {
        "refuse" => Trouble::Refuse(named(words, "a class of failure, such as transient")?),
        "lose" => Trouble::LoseAnswer,
        "slow" => Trouble::Slow(words.time()?),
        "lag" => Trouble::Lag(words.time()?),
        other => return Err(format!("{other:?}: write refuse, lose, slow or lag")),
    };
    let times = if words.takes("times") { words.parse("a number")? } else { 1 };
    let pool = if words.takes("pool") { Some(known_pool(scenario, words)?) } else { None };
    Ok(Happening::Fault(provider, Fault { call, pool, times, trouble }))
}

/// `tasks N SHAPE for TIME`, `gang STRATEGY N SHAPE for TIME`, `floor N SHAPE for TIME`
fn work(scenario: &mut Scenario, at: Timestamp, what: &str, words: &mut Words<'_>) -> Read {
    let strategy = if what == "gang" { Some(strategy(words)?) } else { None };
    let count: u64 = words.parse("a number")?;
    let resources = words.resources()?;
    let shape = Shape { resources, selectors: words.selectors()? };
    let lasts = lasts(words)?;
    if (scenario.work.len() as u64).saturating_add(count) > WORK_MAX {
        return Err(format!("more than {WORK_MAX} pieces of work"));
    }
    let (times, kind) = match (what, strategy) {
        ("floor", _) => (1, Kind::Floor { shape, count }),
        (_, Some(strategy)) => (1, Kind::Gang { strategy, shape, count }),
        _ => (count, Kind::Task(shape)),
    };
    scenario.work.extend((0..times).map(|_| Work::new(at, lasts, kind.clone())));
    scenario.work.sort_by_key(|work| work.arrives);
    Ok(())
}

fn strategy(words: &mut Words<'_>) -> Read<Strategy> {
    let word = words.word("a strategy")?;
    let all = [Strategy::StrictPack, Strategy::StrictSpread, Strategy::Pack, Strategy::Spread];
    let known = all.into_iter().find(|strategy| strategy.to_string() == word);
    known.ok_or_else(|| format!("{word:?}: write STRICT_PACK, STRICT_SPREAD, PACK or SPREAD"))
}
