/* synth_options.h - the options of `heddle synth` */
#ifndef HD_CLI_COMMANDS_SYNTH_OPTIONS_H
#define HD_CLI_COMMANDS_SYNTH_OPTIONS_H

#include "cli/cli.h"
#include "heddle/synth.h"

typedef struct synth_command {
    const char *output, *stacks;
    uint64_t events, steps, layers, ranks, streams, jitter, seed, graphs, host_ranks;
    int64_t rank;
    bool merged, no_python, no_flows, no_counters, no_memory, cupti;
    uint64_t crossings, late_kernels, orphans, negatives;
    uint64_t damage, damage_count;
    uint64_t stack_jitter, stack_lost, stack_paths;
    const char *slow_gpu, *slow_host, *late_loader, *clock_shift;
    const char *stack_offset, *stack_comm;
    bool stack_ids, program;
    cli_texts what_ifs;
} synth_command;

extern const synth_command synth_defaults;
extern const cli_option synth_options[];
extern const char *const synth_damage_kinds[];

/* The options of the library; rank as in hd_synth_options. false: the error is in run->err. */
bool synth_options_of(hd_synth_options *out, cli_run *run, const synth_command *command, int64_t rank);

#endif
