/* cli.h - what a command of heddle is made of
 *
 * How a command is added
 *   1. src/cli/commands/NAME.c defines `const cli_command cmd_NAME` (below) and a static run function.
 *   2. Its name goes into the list of src/cli/meson.build, and its line into the table of main.c.
 * With that it is parsed, listed by `heddle help`, has `--help`, and gets a man page. For example:
 *
 *     struct fix_options { const char *report; double threshold_us; bool dry_run; };
 *
 *     static const struct fix_options defaults = {.threshold_us = 5.0};
 *     static const cli_option options[] = {
 *         {.name = "snap-threshold-us", .kind = CLI_DECIMAL, .value = "US", .max = 1e9,
 *          .field = offsetof(struct fix_options, threshold_us), .help = "snap crossings below this"},
 *         {.name = "dry-run", .letter = 'n', .kind = CLI_FLAG,
 *          .field = offsetof(struct fix_options, dry_run), .help = "report only"},
 *         {0},
 *     };
 *     static int run(cli_run *run)
 *     {
 *         const struct fix_options *options = run->options;
 *         if (hd_fix_overlaps(…, &run->err) != HD_OK) return CLI_FAILED;
 *         cli_print(run, "wrote %s\n", run->operands[1]);
 *         return CLI_OK;
 *     }
 *
 * Rules of a command
 *   - It never prints an error and never exits. It leaves the error in run->err and returns CLI_FAILED; main.c prints
 *     it. Wrong usage that the tables cannot see: `return cli_usage_error(run, "…")`. A command that goes on with its
 *     next file after a failure calls cli_report(run) in between.
 *   - Everything for standard output goes through cli_print or cli_write (the sink for hd_table_write), which keep the
 *     first failure for main.c: a closed pipe ends quietly, a full disk does not.
 *   - `run` and everything in it belong to main.c and outlive the command's run function.
 */
#ifndef HD_CLI_CLI_H
#define HD_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/names.h"
#include "heddle/options.h"

typedef struct cli_run cli_run;

/* Exit statuses, the same for every command. */
enum {
    CLI_OK = 0,
    CLI_FOUND = 1,  /* the command worked and found something, as `check` does */
    CLI_FAILED = 1, /* run->err says why */
    CLI_USAGE = 2,
};

typedef enum cli_kind {
    CLI_FLAG = 1, /* bool           --dry-run */
    CLI_TEXT,     /* const char *   --report FILE; borrowed from argv */
    CLI_TEXTS,    /* cli_texts      --debug-dir A --debug-dir B; borrowed likewise */
    CLI_INTEGER,  /* int64_t        --lane -3 */
    CLI_COUNT,    /* uint64_t       --events 10M; k, M, G are powers of 1000, Ki, Mi, Gi of 1024 */
    CLI_DECIMAL,  /* double         --snap-threshold-us 0.5 */
    CLI_CHOICE,   /* int            --color never; the index into choices */
    CLI_CHOICES,  /* uint64_t       --damage crossings,cut; bit N for choices[N]; `all` and `none` are understood */
    CLI_OPERAND,  /* no field       --output FILE: an operand after all others */
    CLI_GIVEN,    /* cli_given      --by step: one that is not the command's own; without `value` a flag */
} cli_kind;

/* The first member of every object at the top of what --json prints: share/schemas/NAME.json is its schema, which may
 * only gain members. Rows of a query have none, since their members are the statement's. */
#define CLI_SCHEMA(name) "\"schema\": \"heddle." name "/1\""

enum { CLI_TEXTS_MAX = 32 };

/* The values of an option that may be given several times. */
typedef struct cli_texts {
    const char *items[CLI_TEXTS_MAX];
    size_t count;
} cli_texts;

/* Options as given on the command line, for passing on. */
typedef struct cli_given {
    const char *names[CLI_TEXTS_MAX];  /* static, of the tables */
    const char *values[CLI_TEXTS_MAX]; /* NULL: of a flag; borrowed from argv */
    size_t count;
} cli_given;

/* One option. A table of them ends with {0}. */
typedef struct cli_option {
    const char *name; /* without dashes */
    char letter;      /* '\0' for none */
    cli_kind kind;
    const char *value;          /* how help calls the value: "FILE" */
    const char *alone;          /* CLI_TEXT: its value where none is given; a value is then given as --name=VALUE */
    const char *help;           /* one sentence, lower case, no full stop */
    size_t field;               /* offsetof the member, of the type above, in the command's options struct */
    const char *const *choices; /* CLI_CHOICE, CLI_CHOICES: ends with NULL */
    bool old;                   /* an older spelling, which is understood and not listed */
    double min, max;            /* CLI_INTEGER, CLI_COUNT, CLI_DECIMAL: inclusive; both 0 for no bounds */
    const char *offer;          /* CLI_TEXT, CLI_TEXTS: completions: words separated by blanks, or <files>, <folders>,
                                   <programs>, <commands>, <formats>, <codes>, <passes>, <reports>, <categories>; NULL:
                                   by `value` */
} cli_option;

typedef struct cli_example {
    const char *command; /* "heddle info trace.json" */
    const char *text;    /* "what is in a trace" */
} cli_example;

/* Sections of `heddle help`, in their order. */
typedef enum cli_group {
    CLI_START,
    CLI_LOOK,
    CLI_JOB,
    CLI_CHANGE,
    CLI_MAKE,
    CLI_ABOUT,
    CLI_DEVELOP,
    CLI_GROUPS
} cli_group;

typedef struct cli_command {
    const char *name;
    const char *parent; /* typed before the name, as in `heddle job combine`; the name alone works too. NULL: none */
    cli_group group;
    const char *summary;       /* one line for `heddle help`, lower case, no full stop */
    const char *usage;         /* the operands: "IN OUT"; NULL for none */
    const char *offer;         /* completions for the operands, like an option's; NULL: none */
    const char *description;   /* paragraphs, separated by "\n\n"; a paragraph that starts with a space is kept as it is
                                  */
    const cli_option *options; /* NULL for none */
    const cli_example *examples; /* ends with {0} */
    const void *defaults;        /* the options struct as it is before parsing; NULL for all zero */
    size_t options_size;
    int operands_min, operands_max; /* max -1: any number */
    bool has_json;                  /* understands --json */
    bool operands_are_command;      /* everything after the first operand belongs to another program */
    int (*run)(cli_run *run);       /* returns an exit status */
    /* Possible values of the first operand, with their help. NULL except for commands that have topics. */
    const char *topics_title;           /* "Reports" */
    const cli_example *(*topics)(void); /* each with its summary; ends with {0} */
    /* Options besides `options`: those of a topic, or of all of them if it is NULL or none; ends with {0}. */
    const cli_option *(*more_options)(const char *topic);
    void (*topic_help)(cli_run *run, const char *topic); /* of one that exists */
} cli_command;

typedef enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER } cli_color;

/* Options of every command. */
typedef struct cli_globals {
    bool json;
    bool quiet;
    bool wide;
    bool help;
    bool version;       /* before the command only */
    const char *groups; /* NULL: groups.toml next to an operand, or of the user's configuration */
    const char *ops;    /* likewise ops.toml */
    int color;          /* cli_color */
} cli_globals;

/* Of lines that go to no terminal. */
enum { CLI_PIPE_WIDTH = 200 };

struct cli_run {
    const cli_command *command;
    const cli_command
        *unnamed;        /* the command of a line that names none, as `heddle FILE`; NULL: every line names one */
    const void *options; /* the command's own struct, filled in */
    const char **operands;
    int operand_count;
    const char *last_operand; /* of a CLI_OPERAND, also in `operands`; NULL: the option was not given */
    cli_globals global;
    bool color;       /* whether standard output takes colour: ask cli_style */
    bool is_terminal; /* standard output is one */
    unsigned width;   /* columns of text: the terminal's, else CLI_PIPE_WIDTH; 0 with --wide: nothing is shortened */
    hd_error err;
    bool reported;        /* an error has been printed: the exit status is not 0 */
    bool sigpipe_ignored; /* by who started us; we ignore it in any case */
    int out_error;        /* errno of the first failure to write standard output, or 0 */
};

/* ---- main.c ---- */

/* All commands, in the order of `heddle help`; ends with NULL. */
extern const cli_command *const cli_commands[];

/* A file of the command's own, which a signal that ends the program removes too; NULL: none any more. Kept, not
 * copied. */
void cli_remove_at_stop(const char *path);
/* Removes that file and unfinished outputs; async-signal-safe. */
void cli_remove_unfinished(void);
/* Exits with a failure and a message after `seconds`, whatever is running. 0: never. */
void cli_end_after(double seconds);

/* Print run->err now and clear it, for a command that goes on. */
void cli_report(cli_run *run);

/* ---- resolve.c ---- */

/* What the first words of a command line resolve to. */
typedef struct cli_asked {
    const cli_command *command; /* NULL: nothing has that name */
    const char *report;         /* comes before the operands: the report that was typed like a command; NULL: none */
    int used;                   /* words that are the name */
} cli_asked;

cli_asked cli_resolve(const char *const *words, int count);
/* The usage error for a word that cli_resolve does not know: it suggests similar words, or our name for another tool's
 * command. */
void cli_unknown_command(cli_run *run, const char *word);

/* ---- options.c ---- */

enum { CLI_NAME_BYTES = 64 };
/* "job combine": as help writes it. Returns `out`. */
const char *cli_full_name(char out[CLI_NAME_BYTES], const cli_command *command);

extern const cli_option cli_global_options[];

/* The path of $XDG_CONFIG_HOME/heddle/NAME, else of ~/.config/heddle/NAME; false: there is no such file. A folder that
 * is not an absolute path is none. */
bool cli_config_file(char *out, size_t size, const char *name);

/* Whether `option` of cli_global_options applies to `command` (NULL: to heddle itself). */
bool cli_global_applies(const cli_option *option, const cli_command *command);

/* Parse argv[0 … count) for run->command: options into `options` (the command's struct, already holding its defaults)
 * and run->global, operands into run->operands, which has room for `count`. With a NULL command, stops at the first
 * operand, or at the first option that run->unnamed has and heddle itself has not. Returns how many arguments were
 * used, or -1 with run->err set. */
int cli_parse(cli_run *run, void *options, const char *const *argv, int count);

/* Whether the command (NULL: heddle itself) has the option, or all flags, of a word such as --all or -qn3. */
bool cli_has_option(const cli_command *command, const char *word);

/* Whether the option takes no value. */
bool cli_is_flag(const cli_option *option);

/* The options of a command besides its table, given the first operand (NULL: none yet). NULL: there are none. */
const cli_option *cli_more_options(const cli_command *command, const char *operand);

/* Whether a command has this topic. */
bool cli_has_topic(const cli_command *command, const char *name);

/* Set run->err to a usage error and return CLI_USAGE. */
int cli_usage_error(cli_run *run, const char *format, ...) HD_PRINTF(2, 3);

/* A usage error if the output is the same file as the input (by any path), which would be lost; `hint` is appended.
 * Either may be NULL, or - for a stream. main.c compares the option "output" with the operands for every command. */
int cli_spare_input(cli_run *run, const char *out, const char *input, const char *hint);
/* The same of each input of an option. */
int cli_spare_inputs(cli_run *run, const char *out, const cli_texts *inputs);
/* A usage error unless the sides of a --diff are two operands, or --before and --after; without --diff these are
 * refused. `operands`: what the two are called, as "OLD NEW". */
int cli_check_sides(cli_run *run, bool is_diff, const cli_texts *before, const cli_texts *after, const char *operands);

/* ---- value.c ---- */

/* Parse `text` into the member of `options` that `option` names. On failure writes what was expected into `problem`. */
bool cli_value_parse(const cli_option *option, void *options, const char *text, char *problem, size_t problem_size);

/* The default of an option as text, "" when there is none worth showing. */
void cli_value_default(const cli_option *option, const void *defaults, char *out, size_t out_size);

/* How help calls the value of an option of a report or a pass: "TIME"; NULL: of a flag. */
const char *cli_value_name(hd_option_kind kind);

/* Does a path of so many bytes end so? */
bool cli_ends_with(const char *path, size_t size, const char *end);

/* ---- term.c ---- */

typedef enum cli_look { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN } cli_look;

/* Fill in run->color and run->width. Colour: --color, else a terminal with NO_COLOR unset. */
void cli_term_init(cli_run *run);

/* The escape sequence for a look ("" without colour); CLI_PLAIN ends it. */
const char *cli_style(const cli_run *run, cli_look look);

/* A line before a table: a blank line, the name in bold, and what it means, dim. */
void cli_print_heading(cli_run *run, const char *name, const char *meaning);

/* printf to standard output; the first failure is kept in run->out_error. */
void cli_print(cli_run *run, const char *format, ...) HD_PRINTF(2, 3);

/* The same as a sink: `user` is the cli_run. */
hd_status cli_write(void *user, const char *data, size_t size);

/* ---- help.c, man.c ---- */

/* The commands; with `all` the reports too. */
void cli_help_overview(cli_run *run, bool all);
/* topic: NULL, or one of the command's. */
void cli_help_command(cli_run *run, const cli_command *command, const char *topic);
/* A title, and options below it. */
void cli_help_options(cli_run *run, const char *title, const cli_option *options, const void *defaults);
/* Words wrapped, indented to `column` but for the first line. */
void cli_help_text(cli_run *run, const char *text, int column);
void cli_man_page(cli_run *run, const cli_command *command); /* NULL: heddle itself */

/* ---- complete.c ---- */

/* Print completions for the last of words[0 … count), the words after "heddle"; count > 0. */
void cli_complete(cli_run *run, const char *const *words, int count);

/* ---- progress.c ---- */

/* A line on standard error that shows how far long work is: only on a terminal, only after a second, not with -q. */
typedef struct cli_progress {
    const char *verb; /* "reading"; borrowed */
    uint64_t started_ns, shown_ns;
    bool on, shown;
    bool events, files, shares; /* the unit; else bytes */
    bool in_lines;
    unsigned tenths; /* tenths of `total` already reported */
} cli_progress;

void cli_progress_init(cli_progress *progress, const cli_run *run, const char *verb);

/* The same for work that begins later: time counts from the first update on. */
void cli_progress_init_later(cli_progress *progress, const cli_run *run, const char *verb);

/* The same for an analysis, in shares of its time. */
void cli_progress_init_analysis(cli_progress *progress, const cli_run *run);

/* Where it is not a terminal, a line of its own for each tenth. After cli_progress_init. */
void cli_progress_in_lines(cli_progress *progress, const cli_run *run);

/* `done` of `total` bytes, events, files or shares of the time; total 0 when it is not known. May be called often, from
 * one thread at a time. */
void cli_progress_update(void *progress, uint64_t done, uint64_t total);

/* Clear the line before anything else is printed; the next update draws it again. */
void cli_progress_pause(cli_progress *progress);
/* Clear the line. */
void cli_progress_deinit(cli_progress *progress);

#endif
