//! State on disk: the database, locks, old data, damage and fault injection.
mod busy_database;
pub(crate) mod database_damage;
mod database_tampering;
pub(crate) mod disk_faults;
mod file_fault_sweep;
mod gc;
mod kill_sweep;
mod locks;
mod old_databases;
mod shared_database;
mod state_location;
mod temporary_folders;
mod unsafe_state_paths;
