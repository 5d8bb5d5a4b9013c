//! Chooses a sample of mutants by their names. The same seed chooses the same mutants, also after changes in other places.
use std::collections::HashMap;

/// Returns `size` of the mutants, in the order of the list.
///
/// The seed gives every mutant a rank, and the lowest ranks are chosen. The rank does not depend on the position in the
/// file or the list, so that an edit adds or removes only the mutants of the code that it changes.
pub(crate) fn choose_sample(mutants: &[String], size: usize, seed: u64) -> Vec<&str> {
    let mut seen: HashMap<String, u64> = HashMap::new();
    let mut ranked: Vec<(u64, usize)> = Vec::with_capacity(mutants.len());
    for (index, mutant) in mutants.iter().enumerate() {
        let occurrence = seen.entry(without_position(mutant)).or_default();
        ranked.push((rank(&without_position(mutant), *occurrence, seed), index));
        *occurrence += 1;
    }
    ranked.sort_unstable();
    let mut chosen: Vec<usize> = ranked.into_iter().take(size).map(|(_, index)| index).collect();
    chosen.sort_unstable();
    chosen.into_iter().filter_map(|index| mutants.get(index)).map(String::as_str).collect()
}

/// Returns `FILE:LINE:COLUMN: CHANGE` without line and column.
fn without_position(mutant: &str) -> String {
    let Some((position, change)) = mutant.split_once(": ") else { return mutant.to_owned() };
    let file = position.split(':').next().unwrap_or(position);
    format!("{file}: {change}")
}

/// Mixes name, occurrence and seed into a number (FNV-1a, then the finaliser of splitmix64).
fn rank(name: &str, occurrence: u64, seed: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(occurrence.to_le_bytes()).chain(name.bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutants(first_line: usize) -> Vec<String> {
        let name = |number: usize| format!("a.rs:{}:5: replace f{} -> bool with true", first_line + number, number / 2);
        (0..200).map(name).collect()
    }

    fn chosen_changes(mutants: &[String], seed: u64) -> Vec<String> {
        choose_sample(mutants, 50, seed).into_iter().map(without_position).collect()
    }

    #[test]
    fn a_sample_has_the_wanted_size_and_no_mutant_twice() {
        let all = mutants(1);
        let mut sample = choose_sample(&all, 50, 1);
        sample.sort_unstable();
        sample.dedup();
        assert_eq!(sample.len(), 50);
        assert_eq!(choose_sample(&all, 1_000, 1).len(), 200);
    }

    #[test]
    fn the_seed_decides_the_sample() {
        assert_eq!(chosen_changes(&mutants(1), 1), chosen_changes(&mutants(1), 1));
        assert_ne!(chosen_changes(&mutants(1), 1), chosen_changes(&mutants(1), 2));
    }

    #[test]
    fn lines_that_move_do_not_change_the_sample() {
        assert_eq!(chosen_changes(&mutants(1), 1), chosen_changes(&mutants(900), 1));
    }

    #[test]
    fn equal_changes_of_one_file_are_chosen_independently() {
        let same: Vec<String> = (1..101).map(|line| format!("a.rs:{line}:5: replace == with !=")).collect();
        let lines: Vec<&str> = choose_sample(&same, 10, 1);
        assert_eq!(lines.len(), 10);
        assert_ne!(lines, same.iter().take(10).map(String::as_str).collect::<Vec<_>>());
    }
}
