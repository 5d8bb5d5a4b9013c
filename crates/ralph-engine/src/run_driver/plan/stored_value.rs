//! How values of a run's settings are stored: durations in milliseconds, sizes in megabytes, choices as flags.

/// A duration in milliseconds.
pub(in crate::run_driver) mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::run_driver) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(in crate::run_driver) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// An optional size in megabytes. An invalid size counts as none.
pub(in crate::run_driver) mod optional_megabytes {
    use ralph_util::memory_size::MemorySize;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::run_driver) fn serialize<S: Serializer>(size: &Option<MemorySize>, to: S) -> Result<S::Ok, S::Error> {
        size.map(MemorySize::as_mb).serialize(to)
    }

    pub(in crate::run_driver) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<MemorySize>, D::Error> {
        Option::<u64>::deserialize(from).map(|mb| mb.and_then(MemorySize::from_mb))
    }
}

/// The size limit of logs in megabytes. An invalid limit counts as the default.
pub(in crate::run_driver) mod log_megabytes {
    use ralph_util::memory_size::MemorySize;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::run_driver) fn serialize<S: Serializer>(size: &MemorySize, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(size.as_mb())
    }

    pub(in crate::run_driver) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MemorySize, D::Error> {
        u64::deserialize(from).map(|mb| MemorySize::from_mb(mb).unwrap_or(MemorySize::GIGABYTE))
    }
}

/// Whether other runs may share the work tree, as a flag.
pub(in crate::run_driver) mod is_shared {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::lock::LockSharing;

    pub(in crate::run_driver) fn serialize<S: Serializer>(sharing: &LockSharing, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(*sharing == LockSharing::Shared)
    }

    pub(in crate::run_driver) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<LockSharing, D::Error> {
        bool::deserialize(from).map(|is_shared| if is_shared { LockSharing::Shared } else { LockSharing::Exclusive })
    }
}
