//! Decides by the first bytes of a file whether this machine can run it. Not used for scripts with `#!`.
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes to read from the start of a file.
const HEADER_BYTES: u64 = 256;

/// Returns the first bytes of a file, or `None` if it cannot be read.
fn read_header(file: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(file).and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut head)).ok()?;
    Some(head)
}

/// Returns `false` only for files that this machine certainly cannot run. A file that is executable but not readable is
/// left to the kernel.
pub(crate) fn can_machine_run(file: &Path) -> bool {
    let Some(head) = read_header(file) else { return true };
    let own = std::env::current_exe().ok().and_then(|own| elf_machine(&read_header(&own)?));
    !is_text_file(&head) && (!is_foreign_machine(elf_machine(&head), own) || has_binfmt_interpreters())
}

/// The kernel does not execute a text file without `#!`, although a shell would.
fn is_text_file(head: &[u8]) -> bool {
    std::str::from_utf8(head).is_ok() && !head.contains(&0)
}

/// Returns the `e_machine` number of an ELF file.
fn elf_machine(head: &[u8]) -> Option<u16> {
    let after_magic = head.strip_prefix(b"\x7fELF")?;
    let is_big_endian = *after_magic.get(1)? == 2;
    let number = after_magic.get(14..)?.first_chunk()?;
    Some(if is_big_endian { u16::from_be_bytes(*number) } else { u16::from_le_bytes(*number) })
}

/// A 64-bit machine also runs 32-bit programs of the same family.
fn is_foreign_machine(program: Option<u16>, own: Option<u16>) -> bool {
    const X86_64: u16 = 62;
    const I386: u16 = 3;
    const AARCH64: u16 = 183;
    const ARM: u16 = 40;
    match (program, own) {
        (None, _) | (_, None) | (Some(I386), Some(X86_64)) | (Some(ARM), Some(AARCH64)) => false,
        (program, own) => program != own,
    }
}

/// Returns whether the kernel can run foreign programs through a registered emulator.
fn has_binfmt_interpreters() -> bool {
    let known = std::fs::read_dir("/proc/sys/fs/binfmt_misc").into_iter().flatten().flatten();
    known.map(|entry| entry.file_name()).any(|name| name != "register" && name != "status")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf_header(order: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut head = b"\x7fELF\x02".to_vec();
        head.extend([order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]);
        head.extend(machine);
        head
    }

    // fault: 30
    #[test]
    fn the_machine_of_a_program_is_read_in_its_own_byte_order() {
        assert_eq!(elf_machine(&elf_header(1, [62, 0])), Some(62));
        assert_eq!(elf_machine(&elf_header(2, [0, 22])), Some(22));
        assert_eq!(elf_machine(b"\x7fELF\x02\x01"), None);
        assert_eq!(elf_machine(b"MZ"), None);
    }

    // fault: 30
    #[test]
    fn a_program_is_foreign_unless_it_is_for_this_machine_or_its_32_bit_variant() {
        assert!(!is_foreign_machine(Some(62), Some(62)) && !is_foreign_machine(Some(3), Some(62)));
        assert!(is_foreign_machine(Some(183), Some(62)) && is_foreign_machine(Some(62), Some(183)));
        assert!(!is_foreign_machine(None, Some(62)) && !is_foreign_machine(Some(62), None), "left to the kernel");
    }
}
