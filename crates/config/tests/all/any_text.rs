//! Whatever the text: an answer, never a panic.

use proptest::prelude::*;

const SEEDS: [&str; 3] = [
    include_str!("../data/minimal.yaml"),
    include_str!("../data/many_types.yaml"),
    include_str!("../data/cloud.yaml"),
];

/// A known file with some characters replaced by others that mean something to YAML.
fn damaged() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), "[a-z0-9:#&*!|>'\"{}\\[\\], \n\t<%@~.-]{0,3}");
    (0..SEEDS.len(), prop::collection::vec(change, 1..8)).prop_map(|(seed, changes)| {
        let mut text: Vec<char> = SEEDS[seed].chars().collect();
        for (at, with) in changes {
            let at = at.index(text.len());
            text.splice(at..(at + 1).min(text.len()), with.chars());
            if text.is_empty() {
                text.push('\n');
            }
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_gets_an_answer(text in damaged()) {
        for loaded in [crate::common::ray_in(&text, &[]), crate::common::general(&text)] {
            if let Err(mistakes) = loaded {
                prop_assert!(!mistakes.to_string().is_empty());
            }
        }
    }

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,200}") {
        let _ = crate::common::ray_in(&text, &[]);
    }
}
