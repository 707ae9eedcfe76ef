use super::{
    CONTROL_BYTES_MAX, ChildReady, Command, ExitReport, Jail, ProgramText, Report, SlotId, Start,
};
use proptest::prelude::*;

#[test]
fn commands_and_reports_survive_the_socket() {
    let commands = [
        Command::Start(Start {
            machine: true,
            program: false,
            ephemeral: true,
            hugepages: false,
            work_hugepages: true,
            max_memory_bytes: 1 << 40,
            max_work_memory_bytes: 1 << 41,
            children: 4,
            words: 1,
        }),
        Command::ProgramText(ProgramText::Argument, b"--fast".to_vec()),
        Command::ProgramText(ProgramText::Variable, b"A=b".to_vec()),
        Command::ProgramText(ProgramText::Path, b"/etc/motd".to_vec()),
        Command::Fork(SlotId(7)),
    ];
    for command in commands {
        assert_eq!(Command::from_bytes(&command.to_bytes()), Some(command));
    }
    let jail = Jail {
        filter_hash: u64::MAX,
        filter_len: 136,
        landlock_abi: 7,
        no_new_privs: true,
        capabilities: false,
    };
    let exit_report = ExitReport {
        status: 0x8b,
        cpu_us: 1,
        memory_peak_bytes: 2,
    };
    let reports = [
        Report::Ready(jail),
        Report::Forked(SlotId(1)),
        Report::Refused(SlotId(2), 11),
        Report::Reaped(SlotId(3), exit_report),
        Report::Broken(String::from("landlock: no")),
        Report::Tables(String::from("r-x user")),
        Report::ChildReady(ChildReady {
            cpu_us: 1,
            wipe_us: 2,
            dirty_bytes: 3,
            refused_calls: 4,
            leaked: true,
        }),
    ];
    for report in reports {
        assert_eq!(Report::from_bytes(&report.to_bytes()), Some(report));
    }
}

#[test]
fn a_long_text_is_cut_to_fit_a_packet() {
    let bytes = Report::Broken("x".repeat(10_000)).to_bytes();
    assert_eq!(bytes.len(), CONTROL_BYTES_MAX);
}

proptest! {
    #[test]
    fn no_bytes_reach_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), tag in 0_u8..14) {
        let tagged = [&[tag, 0, 0, 0, 0, 0, 0, 0], &bytes[..]].concat();
        for bytes in [bytes, tagged] {
            prop_assert!(Command::from_bytes(&bytes).is_none() || 8 <= bytes.len());
            prop_assert!(Report::from_bytes(&bytes).is_none() || 8 <= bytes.len());
        }
    }
}
