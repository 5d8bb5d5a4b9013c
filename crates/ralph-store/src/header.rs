//! What the outside of the database tells: its first bytes and the sizes of its files. Looking at them costs
//! nothing, and SQLite would take some damage for a new, empty database.
use super::Damage;

/// The bytes of SQLite's header.
pub(super) const LENGTH: usize = 100;
/// Marks a database as ours: the letters `ralp`.
pub(super) const APPLICATION: u32 = 0x7261_6c70;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What can be seen without opening the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outside {
    /// The first bytes of the file; fewer where it is shorter. `None` where there is no file.
    pub(super) header: Option<Vec<u8>>,
    pub(super) size: u64,
    /// The size of the write-ahead log.
    pub(super) log: u64,
    /// The size of the rollback journal, which SQLite uses while it makes a database.
    pub(super) journal: u64,
    /// Whether a database was made here once.
    pub(super) made: bool,
}

/// What the outside says about the inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// There is no database yet, or one whose making was cut short.
    Nothing,
    /// The last process closed it. The schema is that of the header.
    AtRest { schema: i64 },
    /// A process is using it, or died: the log holds what is not yet in the file.
    InUse,
}

/// Reads the outside.
pub(super) fn judge(outside: &Outside) -> Result<Inside, Damage> {
    let Some(header) = outside.header.as_deref().filter(|header| !header.is_empty()) else {
        return nothing(outside);
    };
    let header: &[u8; LENGTH] = header.try_into().map_err(|_| Damage::NoDatabase)?;
    well_formed(header)?;
    if outside.log > 0 || outside.journal > 0 {
        return Ok(Inside::InUse);
    }
    whole(header, outside.size)?;
    match (number(header, 60), outside.made) {
        (0, true) => Err(Damage::NoTables),
        (0, false) => Ok(Inside::Nothing),
        (schema, _) => Ok(Inside::AtRest { schema: schema.into() }),
    }
}

fn nothing(outside: &Outside) -> Result<Inside, Damage> {
    match (&outside.header, outside.made || outside.log > 0) {
        (_, false) => Ok(Inside::Nothing),
        (None, true) => Err(Damage::Missing),
        (Some(_), true) => Err(Damage::Empty),
    }
}

/// Holds the fixed parts of a header against what SQLite writes there.
fn well_formed(header: &[u8; LENGTH]) -> Result<(), Damage> {
    let fractions = header[21..24] == [64, 32, 32];
    let versions = header[18..20].iter().all(|version| [1, 2].contains(version));
    if header[..16] != MAGIC[..] || !fractions || !versions || page_size(header).is_none() {
        return Err(Damage::NoDatabase);
    }
    match number(header, 68) {
        0 | APPLICATION => Ok(()),
        _ => Err(Damage::AnotherProgram),
    }
}

/// Without a log the file must be as long as its header says.
fn whole(header: &[u8; LENGTH], size: u64) -> Result<(), Damage> {
    let expected = u64::from(number(header, 28)) * page_size(header).unwrap_or(0);
    // The number of pages is valid only if these two agree.
    let valid = number(header, 24) == number(header, 92);
    if valid && size < expected {
        return Err(Damage::Cut { size, expected });
    }
    Ok(())
}

fn page_size(header: &[u8; LENGTH]) -> Option<u64> {
    match u16::from_be_bytes([header[16], header[17]]) {
        1 => Some(65_536),
        size if size >= 512 && size.is_power_of_two() => Some(size.into()),
        _ => None,
    }
}

fn number(header: &[u8; LENGTH], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(pages: u32, schema: u32) -> Vec<u8> {
        let mut bytes = vec![0; LENGTH];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..18].copy_from_slice(&4096_u16.to_be_bytes());
        bytes[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
        bytes[28..32].copy_from_slice(&pages.to_be_bytes());
        bytes[60..64].copy_from_slice(&schema.to_be_bytes());
        bytes
    }

    fn sound() -> Outside {
        Outside { header: Some(header(3, 1)), size: 3 * 4096, log: 0, journal: 0, made: true }
    }

    // fault: 59
    #[test]
    fn a_missing_or_empty_database_is_new_only_where_there_never_was_one() {
        let missing = Outside { header: None, size: 0, log: 0, journal: 0, made: false };
        assert_eq!(judge(&missing), Ok(Inside::Nothing));
        let empty = Outside { header: Some(vec![]), ..missing.clone() };
        assert_eq!(judge(&empty), Ok(Inside::Nothing));
        assert_eq!(judge(&Outside { made: true, ..missing.clone() }), Err(Damage::Missing));
        assert_eq!(judge(&Outside { log: 1, ..missing }), Err(Damage::Missing));
        assert_eq!(judge(&Outside { made: true, ..empty.clone() }), Err(Damage::Empty));
        assert_eq!(judge(&Outside { log: 1, ..empty }), Err(Damage::Empty));
    }

    // fault: 59
    #[test]
    fn a_database_at_rest_is_as_long_as_it_says() {
        assert_eq!(judge(&sound()), Ok(Inside::AtRest { schema: 1 }));
        let cut = Outside { size: 2 * 4096, ..sound() };
        assert_eq!(judge(&cut), Err(Damage::Cut { size: 8192, expected: 12_288 }));
        assert_eq!(judge(&Outside { log: 9, ..cut }), Ok(Inside::InUse), "the log may hold the rest");
    }

    // fault: 61
    #[test]
    fn tables_that_were_only_in_a_lost_log_are_missed() {
        let without = Outside { header: Some(header(3, 0)), ..sound() };
        assert_eq!(judge(&without), Err(Damage::NoTables));
        assert_eq!(
            judge(&Outside { made: false, ..without }),
            Ok(Inside::Nothing),
            "cut short in the making"
        );
    }

    // fault: 59, 36
    #[test]
    fn what_is_no_database_or_somebody_else_s_is_recognised() {
        assert_eq!(judge(&Outside { header: Some(b"garbage".to_vec()), ..sound() }), Err(Damage::NoDatabase));
        for at in [0, 16, 18, 21] {
            let mut bytes = header(3, 1);
            bytes[at] ^= 0x55;
            assert_eq!(
                judge(&Outside { header: Some(bytes), ..sound() }),
                Err(Damage::NoDatabase),
                "byte {at}"
            );
        }
        let mut bytes = header(3, 1);
        bytes[68..72].copy_from_slice(&0x0f05_5112_u32.to_be_bytes());
        assert_eq!(judge(&Outside { header: Some(bytes), ..sound() }), Err(Damage::AnotherProgram));
    }
}
