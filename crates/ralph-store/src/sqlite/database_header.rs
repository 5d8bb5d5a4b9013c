//! Classifies the database by its header and the sizes of its files, before SQLite opens it. SQLite would treat some
//! kinds of damage as a new, empty database. Hand-written because SQLite has no API for this without opening the file.
use crate::DatabaseDamage;

/// The length of SQLite's header.
pub(crate) const SQLITE_HEADER_BYTES: usize = 100;
/// Marks a database as one of ralph: the letters `ralp`.
pub(crate) const APPLICATION_ID: u32 = 0x7261_6c70;

const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The state of the files, as read without opening the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseFileState {
    /// The first bytes of the file; fewer if it is shorter. `None` if the file does not exist.
    pub(crate) header: Option<Vec<u8>>,
    pub(crate) file_size: u64,
    /// The size of the write-ahead log.
    pub(crate) wal_size: u64,
    /// The size of the rollback journal, which SQLite uses while it creates a database.
    pub(crate) journal_size: u64,
    /// Whether a database was created here before.
    pub(crate) was_created: bool,
}

/// The state of the database, derived from its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseState {
    /// The database does not exist yet, or its creation was interrupted.
    Absent,
    /// The last process closed it. The schema version is read from the header.
    Closed { schema: i64 },
    /// A process is using it, or died without closing it: the log holds data that is not in the file yet.
    InUse,
}

/// Classifies the database, or returns the damage.
pub(crate) fn classify_database(files: &DatabaseFileState) -> Result<DatabaseState, DatabaseDamage> {
    let Some(header) = files.header.as_deref().filter(|header| !header.is_empty()) else {
        return classify_missing_database(files);
    };
    let header: &[u8; SQLITE_HEADER_BYTES] = header.try_into().map_err(|_| DatabaseDamage::NotSqlite)?;
    check_header_format(header)?;
    if files.wal_size > 0 || files.journal_size > 0 {
        return Ok(DatabaseState::InUse);
    }
    check_file_length(header, files.file_size)?;
    match (read_header_u32(header, 60), files.was_created) {
        (0, true) => Err(DatabaseDamage::NoTables),
        (0, false) => Ok(DatabaseState::Absent),
        (schema, _) => Ok(DatabaseState::Closed { schema: schema.into() }),
    }
}

fn classify_missing_database(files: &DatabaseFileState) -> Result<DatabaseState, DatabaseDamage> {
    match (&files.header, files.was_created || files.wal_size > 0) {
        (_, false) => Ok(DatabaseState::Absent),
        (None, true) => Err(DatabaseDamage::Missing),
        (Some(_), true) => Err(DatabaseDamage::Empty),
    }
}

/// Checks the constant parts of the header.
fn check_header_format(header: &[u8; SQLITE_HEADER_BYTES]) -> Result<(), DatabaseDamage> {
    let fractions = header[21..24] == [64, 32, 32];
    let versions = header[18..20].iter().all(|version| [1, 2].contains(version));
    if header[..16] != SQLITE_MAGIC[..] || !fractions || !versions || read_page_size(header).is_none() {
        return Err(DatabaseDamage::NotSqlite);
    }
    match read_header_u32(header, 68) {
        0 | APPLICATION_ID => Ok(()),
        _ => Err(DatabaseDamage::ForeignDatabase),
    }
}

/// Checks that the file is at least as long as its header says. Valid only without a write-ahead log.
fn check_file_length(header: &[u8; SQLITE_HEADER_BYTES], size: u64) -> Result<(), DatabaseDamage> {
    let expected = u64::from(read_header_u32(header, 28)) * read_page_size(header).unwrap_or(0);
    // The number of pages is valid only if these two fields are equal.
    let valid = read_header_u32(header, 24) == read_header_u32(header, 92);
    if valid && size < expected {
        return Err(DatabaseDamage::Truncated { size, expected });
    }
    Ok(())
}

fn read_page_size(header: &[u8; SQLITE_HEADER_BYTES]) -> Option<u64> {
    match u16::from_be_bytes([header[16], header[17]]) {
        1 => Some(65_536),
        size if size >= 512 && size.is_power_of_two() => Some(size.into()),
        _ => None,
    }
}

fn read_header_u32(header: &[u8; SQLITE_HEADER_BYTES], offset: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[offset..offset + 4]);
    u32::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_header(pages: u32, schema: u32) -> Vec<u8> {
        let mut bytes = vec![0; SQLITE_HEADER_BYTES];
        bytes[..16].copy_from_slice(SQLITE_MAGIC);
        bytes[16..18].copy_from_slice(&4096_u16.to_be_bytes());
        bytes[18..24].copy_from_slice(&[2, 2, 0, 64, 32, 32]);
        bytes[28..32].copy_from_slice(&pages.to_be_bytes());
        bytes[60..64].copy_from_slice(&schema.to_be_bytes());
        bytes
    }

    fn sound_database() -> DatabaseFileState {
        DatabaseFileState {
            header: Some(sample_header(3, 1)),
            file_size: 3 * 4096,
            wal_size: 0,
            journal_size: 0,
            was_created: true,
        }
    }

    // fault: 59
    #[test]
    fn a_missing_or_empty_database_is_new_only_if_none_was_created_before() {
        let missing =
            DatabaseFileState { header: None, file_size: 0, wal_size: 0, journal_size: 0, was_created: false };
        assert_eq!(classify_database(&missing), Ok(DatabaseState::Absent));
        let empty = DatabaseFileState { header: Some(vec![]), ..missing.clone() };
        assert_eq!(classify_database(&empty), Ok(DatabaseState::Absent));
        assert_eq!(
            classify_database(&DatabaseFileState { was_created: true, ..missing.clone() }),
            Err(DatabaseDamage::Missing)
        );
        assert_eq!(classify_database(&DatabaseFileState { wal_size: 1, ..missing }), Err(DatabaseDamage::Missing));
        assert_eq!(
            classify_database(&DatabaseFileState { was_created: true, ..empty.clone() }),
            Err(DatabaseDamage::Empty)
        );
        assert_eq!(classify_database(&DatabaseFileState { wal_size: 1, ..empty }), Err(DatabaseDamage::Empty));
    }

    // fault: 59
    #[test]
    fn a_closed_database_that_is_shorter_than_its_header_says_is_truncated() {
        assert_eq!(classify_database(&sound_database()), Ok(DatabaseState::Closed { schema: 1 }));
        let cut = DatabaseFileState { file_size: 2 * 4096, ..sound_database() };
        assert_eq!(classify_database(&cut), Err(DatabaseDamage::Truncated { size: 8192, expected: 12_288 }));
        assert_eq!(
            classify_database(&DatabaseFileState { wal_size: 9, ..cut }),
            Ok(DatabaseState::InUse),
            "the log may contain the rest"
        );
    }

    // fault: 61
    #[test]
    fn tables_that_were_only_in_a_lost_wal_file_are_reported_missing() {
        let without = DatabaseFileState { header: Some(sample_header(3, 0)), ..sound_database() };
        assert_eq!(classify_database(&without), Err(DatabaseDamage::NoTables));
        assert_eq!(
            classify_database(&DatabaseFileState { was_created: false, ..without }),
            Ok(DatabaseState::Absent),
            "its creation was interrupted"
        );
    }

    // fault: 59, 36
    #[test]
    fn files_that_are_not_a_ralph_database_are_recognised() {
        assert_eq!(
            classify_database(&DatabaseFileState { header: Some(b"garbage".to_vec()), ..sound_database() }),
            Err(DatabaseDamage::NotSqlite)
        );
        for at in [0, 16, 18, 21] {
            let mut bytes = sample_header(3, 1);
            bytes[at] ^= 0x55;
            assert_eq!(
                classify_database(&DatabaseFileState { header: Some(bytes), ..sound_database() }),
                Err(DatabaseDamage::NotSqlite),
                "byte {at}"
            );
        }
        let mut bytes = sample_header(3, 1);
        bytes[68..72].copy_from_slice(&0x0f05_5112_u32.to_be_bytes());
        assert_eq!(
            classify_database(&DatabaseFileState { header: Some(bytes), ..sound_database() }),
            Err(DatabaseDamage::ForeignDatabase)
        );
    }
}
