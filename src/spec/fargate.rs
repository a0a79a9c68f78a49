//! The sizes that a Fargate task can have, as AWS documents them ("Task CPU and memory" in the Amazon ECS Developer
//! Guide). A pair that is not in the table is refused by AWS when the task is registered; here, before anything runs.

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// CPU units, and the memory that goes with them: the least, the most, and the step, in MiB.
const SIZES: [(u32, u64, u64, u64); 7] = [
    (256, 512, 2048, 512),
    (512, 1024, 4096, 1024),
    (1024, 2048, 8192, 1024),
    (2048, 4096, 16_384, 1024),
    (4096, 8192, 30_720, 1024),
    (8192, 16_384, 61_440, 4096),
    (16_384, 32_768, 122_880, 8192),
];

/// The size of a task as ECS wants it: CPU units (1024 a CPU) and MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskSize {
    /// CPU units.
    pub cpu: u32,
    /// Memory in MiB.
    pub memory: u64,
}

impl TaskSize {
    /// The task of `cpus` and `memory` bytes on Fargate.
    ///
    /// # Errors
    /// When Fargate has no such size, with those that it has.
    pub fn fargate(cpus: f64, memory: u64) -> Result<Self, String> {
        let units = cpus * 1024.0;
        let row = SIZES.iter().find(|(cpu, ..)| f64::from(*cpu) == units);
        let Some(&(cpu, least, most, step)) = row else {
            let known: Vec<String> =
                SIZES.iter().map(|(cpu, ..)| (f64::from(*cpu) / 1024.0).to_string()).collect();
            return Err(format!("Fargate has no task of {cpus} CPUs: it has {}", known.join(", ")));
        };
        let mib = memory / MIB;
        let is_step = memory.is_multiple_of(MIB) && (mib - least.min(mib)).is_multiple_of(step);
        // The smallest size steps from 512 MiB to 1 GiB to 2 GiB.
        let is_known = (least..=most).contains(&mib) && is_step && !(cpu == 256 && mib == 1536);
        match is_known {
            true => Ok(TaskSize { cpu, memory: mib }),
            false => Err(format!(
                "Fargate has no task of {cpus} CPUs and {}: {}",
                shown(memory),
                with(cpu, least, most, step)
            )),
        }
    }

    /// The task of `cpus` and `memory` bytes on instances, which take any size.
    pub fn any(cpus: f64, memory: u64) -> Self {
        TaskSize { cpu: (cpus * 1024.0).round().max(1.0) as u32, memory: memory.div_ceil(MIB) }
    }
}

fn with(cpu: u32, least: u64, most: u64, step: u64) -> String {
    let cpus = f64::from(cpu) / 1024.0;
    match cpu {
        256 => format!("with {cpus} it has 512 MiB, 1 GiB or 2 GiB"),
        _ => {
            let [least, most, step] = [least, most, step].map(|mib| mib / 1024);
            format!("with {cpus} it has {least} GiB to {most} GiB in steps of {step} GiB")
        }
    }
}

fn shown(memory: u64) -> String {
    match memory {
        whole if whole.is_multiple_of(GIB) => format!("{} GiB", whole / GIB),
        whole if whole.is_multiple_of(MIB) => format!("{} MiB", whole / MIB),
        bytes => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_they_are_documented() {
        for (cpus, mib, is_known) in [
            (0.25, 512, true),
            (0.25, 1024, true),
            (0.25, 1536, false),
            (0.25, 2048, true),
            (0.25, 4096, false),
            (0.5, 512, false),
            (0.5, 1024, true),
            (0.5, 4096, true),
            (1.0, 2048, true),
            (1.0, 8192, true),
            (1.0, 9216, false),
            (2.0, 4096, true),
            (2.0, 16_384, true),
            (4.0, 8192, true),
            (4.0, 30_720, true),
            (4.0, 30_208, false),
            (8.0, 16_384, true),
            (8.0, 17_408, false),
            (8.0, 61_440, true),
            (16.0, 32_768, true),
            (16.0, 40_960, true),
            (16.0, 122_880, true),
            (3.0, 8192, false),
        ] {
            let found = TaskSize::fargate(cpus, mib * MIB);
            assert_eq!(found.is_ok(), is_known, "{cpus} {mib}: {found:?}");
        }
        assert_eq!(TaskSize::fargate(0.25, 512 * MIB), Ok(TaskSize { cpu: 256, memory: 512 }));
        assert_eq!(
            TaskSize::fargate(1.0, 512_000_000).unwrap_err(),
            "Fargate has no task of 1 CPUs and 512000000 bytes: with 1 it has 2 GiB to 8 GiB in steps of 1 GiB"
        );
        assert!(TaskSize::fargate(0.3, GIB).unwrap_err().contains("0.25, 0.5, 1, 2, 4, 8, 16"));
    }
}
