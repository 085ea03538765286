/* options.c - the command line, parsed by the tables that also make the help */
#include "cli/cli.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const color_choices[] = {"auto", "always", "never", NULL};

const cli_option cli_global_options[] = {
    {.name = "json", .kind = CLI_FLAG, .field = offsetof(cli_globals, json), .help = "print JSON instead of text"},
    {.name = "color",
     .kind = CLI_CHOICE,
     .value = "WHEN",
     .choices = color_choices,
     .field = offsetof(cli_globals, color),
     .help = "use colour: auto, always or never"},
    {.name = "quiet",
     .letter = 'q',
     .kind = CLI_FLAG,
     .field = offsetof(cli_globals, quiet),
     .help = "print only what was requested, and losses"},
    {.name = "wide",
     .kind = CLI_FLAG,
     .field = offsetof(cli_globals, wide),
     .help = "tables in full, however wide; else they fit the terminal, or 200 columns"},
    {.name = "groups",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     .field = offsetof(cli_globals, groups),
     .help = "lines \"communication: PATTERN\", or compute, copy, AllReduce …: kernels of these names have this class; "
             "these lines go before the rules of heddle formats --classes. Or tables [[group]] in TOML: name, "
             "patterns = [\"...\"], parent, class, for --by group. Or a shipped table: aiter, megatron, sglang, "
             "transformer-engine, vllm. Default: groups.toml next to an operand or in it, else "
             "~/.config/heddle/groups.toml; none: no file"},
    {.name = "ops",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     .field = offsetof(cli_globals, ops),
     .help = "FLOP and bytes of your own operators, as formulas of the sizes of their inputs: tables [[op]] in TOML of "
             "names, shapes, flop, bytes, kind. Default: ops.toml, as groups.toml above"},
    {.name = "help", .letter = 'h', .kind = CLI_FLAG, .field = offsetof(cli_globals, help), .help = "show this help"},
    {.name = "version",
     .letter = 'V',
     .kind = CLI_FLAG,
     .field = offsetof(cli_globals, version),
     .help = "print the version"},
    {0},
};

bool cli_config_file(char *out, size_t size, const char *name)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool is_told = config && *config == '/';
    if (!is_told && !(home && *home == '/')) return false;
    int length = snprintf(out, size, "%s%s/heddle/%s", is_told ? config : home, is_told ? "" : "/.config", name);
    return length > 0 && (size_t)length < size && access(out, F_OK) == 0;
}

bool cli_global_applies(const cli_option *option, const cli_command *command)
{
    if (option->field == offsetof(cli_globals, version)) return command == NULL;
    if (option->field == offsetof(cli_globals, json)) return command == NULL || command->has_json;
    return true;
}

int cli_usage_error(cli_run *run, const char *format, ...)
{
    char message[HD_ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    hd_error_set(&run->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s", message);
    return CLI_USAGE;
}

const char *cli_full_name(char out[CLI_NAME_BYTES], const cli_command *command)
{
    snprintf(out, CLI_NAME_BYTES, "%s%s%s", command->parent ? command->parent : "", command->parent ? " " : "",
             command->name);
    return out;
}

int cli_spare_input(cli_run *run, const char *out, const char *input, const char *hint)
{
    struct stat a, b;
    if (!out || !input || strcmp(out, "-") == 0 || strcmp(input, "-") == 0) return CLI_OK;
    if (stat(input, &a) != 0 || stat(out, &b) != 0 || !(S_ISREG(b.st_mode) || S_ISDIR(b.st_mode))) return CLI_OK;
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino) return CLI_OK;
    return cli_usage_error(run, "'%.100s' is an input, and would be lost: write to another file%s", out, hint);
}

int cli_spare_inputs(cli_run *run, const char *out, const cli_texts *inputs)
{
    int status = CLI_OK;
    for (size_t i = 0; i < inputs->count && status == CLI_OK; i++)
        status = cli_spare_input(run, out, inputs->items[i], "");
    return status;
}

int cli_check_sides(cli_run *run, bool is_diff, const cli_texts *before, const cli_texts *after, const char *operands)
{
    bool by_option = before->count && after->count;
    if (before->count + after->count && (!is_diff || !by_option || run->operand_count))
        return cli_usage_error(run, "--before and --after are the two sides of --diff, in place of %s", operands);
    if (is_diff && run->operand_count != (by_option ? 0 : 2))
        return cli_usage_error(run, "--diff needs two files, %s, or --before FILE... and --after FILE...", operands);
    return CLI_OK;
}

bool cli_is_flag(const cli_option *option)
{
    return option->kind == CLI_FLAG || (option->kind == CLI_GIVEN && !option->value);
}

bool cli_has_topic(const cli_command *command, const char *name)
{
    for (const cli_example *topic = command && command->topics ? command->topics() : NULL; topic && topic->command;
         topic++) {
        if (strcmp(topic->command, name) == 0) return true;
    }
    return false;
}

const cli_option *cli_more_options(const cli_command *command, const char *operand)
{
    if (!command || !command->more_options) return NULL;
    return command->more_options(operand && cli_has_topic(command, operand) ? operand : NULL);
}

static const cli_option *more_options(const cli_run *run)
{
    return cli_more_options(run->command, run->operand_count ? run->operands[0] : NULL);
}

/* One option found in the tables, and the struct that its value goes to. */
typedef struct found_option {
    const cli_option *option;
    void *target;
} found_option;

static bool same_name(const cli_option *option, const char *name, size_t size, char letter)
{
    if (letter) return option->letter == letter;
    return strlen(option->name) == size && memcmp(option->name, name, size) == 0;
}

/* Look an option up by name, or by letter when that is not 0: the command's own first. */
static bool find_option(found_option *out, cli_run *run, void *options, const char *name, size_t size, char letter)
{
    const cli_option *own = run->command ? run->command->options : NULL;
    for (; own && own->name; own++) {
        if (same_name(own, name, size, letter)) {
            *out = (found_option){own, options};
            return true;
        }
    }
    for (const cli_option *more = more_options(run); more && more->name; more++) {
        if (same_name(more, name, size, letter)) {
            *out = (found_option){more, options};
            return true;
        }
    }
    for (const cli_option *global = cli_global_options; global->name; global++) {
        if (cli_global_applies(global, run->command) && same_name(global, name, size, letter)) {
            *out = (found_option){global, &run->global};
            return true;
        }
    }
    return false;
}

bool cli_has_option(const cli_command *command, const char *word)
{
    cli_run run = {.command = command};
    found_option found;
    if (word[1] == '-') return find_option(&found, &run, NULL, word + 2, strcspn(word + 2, "="), '\0');
    for (const char *letter = word + 1; *letter; letter++) {
        if (!find_option(&found, &run, NULL, NULL, 0, *letter)) return false;
        if (!cli_is_flag(found.option)) break;
    }
    return true;
}

static int unknown_option(cli_run *run, const char *name, size_t size)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(size < 63 ? size : 63), name);
    const char *best = NULL;
    char known[200] = "";
    bool is_cut = false;
    unsigned distance = UINT_MAX;
    const cli_option *own = run->command ? run->command->options : NULL;
    for (; own && own->name; own++) hd_name_suggest(typed, own->name, &best, &distance);
    for (const cli_option *more = more_options(run); more && more->name; more++) {
        size_t used = strlen(known);
        hd_name_suggest(typed, more->name, &best, &distance);
        if (used + strlen(more->name) + sizeof ", --, …" < sizeof known)
            snprintf(known + used, sizeof known - used, "%s--%s", used ? ", " : "", more->name);
        else
            is_cut = true;
    }
    for (const cli_option *global = cli_global_options; global->name; global++) {
        if (cli_global_applies(global, run->command)) hd_name_suggest(typed, global->name, &best, &distance);
    }
    if (best)
        cli_usage_error(run, "unknown option --%s; did you mean --%s?", typed, best);
    else if (*known)
        cli_usage_error(run, "unknown option --%s; %s has %s%s", typed,
                        run->operand_count ? run->operands[0] : run->command->name, known, is_cut ? ", …" : "");
    else
        cli_usage_error(run, "unknown option --%s", typed);
    return -1;
}

static bool store(cli_run *run, found_option found, const char *shown, const char *value)
{
    char problem[160];
    if (found.option->kind == CLI_FLAG) {
        *(bool *)((char *)found.target + found.option->field) = true;
        return true;
    }
    if (found.option->kind == CLI_OPERAND) {
        run->last_operand = value;
        return true;
    }
    if (cli_value_parse(found.option, found.target, value, problem, sizeof problem)) return true;
    cli_usage_error(run, "%s: '%.60s' %s", shown, value ? value : "", problem);
    return false;
}

/* `--name`, `--name=VALUE` or `--name VALUE`. Returns the arguments used, or -1. */
static int parse_long(cli_run *run, void *options, const char *const *argv, int count)
{
    const char *name = argv[0] + 2;
    const char *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    found_option found;
    if (!find_option(&found, run, options, name, size, '\0')) return unknown_option(run, name, size);

    char shown[64];
    snprintf(shown, sizeof shown, "--%s", found.option->name);
    if (cli_is_flag(found.option)) {
        if (equals) {
            cli_usage_error(run, "%s takes no value", shown);
            return -1;
        }
        return store(run, found, shown, NULL) ? 1 : -1;
    }
    if (equals || found.option->alone)
        return store(run, found, shown, equals ? equals + 1 : found.option->alone) ? 1 : -1;
    if (count < 2) {
        cli_usage_error(run, "%s needs a value: %s", shown, found.option->value);
        return -1;
    }
    return store(run, found, shown, argv[1]) ? 2 : -1;
}

/* `-n`, `-nq` (flags together), `-oFILE` or `-o FILE`. Returns the arguments used, or -1. */
static int parse_short(cli_run *run, void *options, const char *const *argv, int count)
{
    for (const char *letter = argv[0] + 1; *letter; letter++) {
        found_option found;
        if (!find_option(&found, run, options, NULL, 0, *letter)) {
            cli_usage_error(run, "unknown option -%c", *letter);
            return -1;
        }
        char shown[3] = {'-', *letter, '\0'};
        if (cli_is_flag(found.option)) {
            store(run, found, shown, NULL);
            continue;
        }
        if (letter[1]) return store(run, found, shown, letter + 1) ? 1 : -1;
        if (count < 2) {
            cli_usage_error(run, "%s needs a value: %s", shown, found.option->value);
            return -1;
        }
        return store(run, found, shown, argv[1]) ? 2 : -1;
    }
    return 1;
}

static bool check_operands(cli_run *run)
{
    const cli_command *command = run->command;
    char name[CLI_NAME_BYTES];
    if (run->global.help) return true;
    if (run->operand_count < command->operands_min) {
        cli_usage_error(run, "too few operands: heddle %s needs %s", cli_full_name(name, command), command->usage);
        return false;
    }
    if (command->operands_max >= 0 && run->operand_count > command->operands_max) {
        cli_usage_error(run, "one operand too many: '%.100s'", run->operands[command->operands_max]);
        return false;
    }
    return true;
}

int cli_parse(cli_run *run, void *options, const char *const *argv, int count)
{
    bool only_operands = false;
    int at = 0;
    while (at < count) {
        const char *word = argv[at];
        int used = 1;
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            if (!run->command) return at;
            run->operands[run->operand_count++] = word;
            only_operands = only_operands || run->command->operands_are_command;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!run->command && run->unnamed && !cli_has_option(NULL, word) && cli_has_option(run->unnamed, word)) {
            return at;
        } else if (word[1] == '-') {
            used = parse_long(run, options, argv + at, count - at);
        } else {
            used = parse_short(run, options, argv + at, count - at);
        }
        if (used < 0) return -1;
        at += used;
    }
    if (run->last_operand) run->operands[run->operand_count++] = run->last_operand;
    if (run->command && !check_operands(run)) return -1;
    return at;
}
