/* complete.c - completions for the last word of a command line, from the tables of the commands
 *
 * A line for each completion: the word, a tab, its description. A word that begins with a colon lets the shell
 * complete by itself: ":files" (after the tab, patterns of file extensions: "json|json.gz"; none: all files),
 * ":folders", ":programs".
 */
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "heddle/format.h"
#include "heddle/report.h"
#include "heddle/symbolize.h"

/* A trace that is larger, and no store, is not read for its categories: a key was pressed. */
#define READ_BYTES_MAX (64 << 20)

typedef struct asked {
    cli_run *run;
    const char *const *words; /* the words after "heddle"; the last one is to be completed */
    int count;
    const cli_command *command;
    const cli_option *pending; /* the last word is its value */
    int operands;              /* before the last word */
    const char *operand;       /* the first of them */
    bool options_end;          /* after -- */
    const char *head;          /* put before each completion: the part of the last word that is already right */
    size_t head_size;
    const char *begun; /* the rest of the last word */
} asked;

/* `tail` is appended to the word. */
static void offer(const asked *a, const char *word, const char *tail, const char *about)
{
    if (strncmp(word, a->begun, strlen(a->begun)) != 0) return;
    cli_print(a->run, "%.*s%s%s\t%s\n", (int)a->head_size, a->head, word, tail, about);
}

static void set_head(asked *a, const char *end)
{
    a->head_size = (size_t)(end - a->head);
    a->begun = end;
}

/* ---- kinds of words ---- */

static void offer_files(const asked *a)
{
    cli_print(a->run, ":files\t");
    for (size_t i = 0; i < hd_format_count(); i++) {
        for (const char *at = hd_format_at(i)->extensions; *at; at += strspn(at, " ")) {
            int size = (int)strcspn(at, " ");
            cli_print(a->run, "%.*s|%.*s.gz|%.*s.zst|", size - 1, at + 1, size - 1, at + 1, size - 1, at + 1);
            at += size;
        }
    }
    cli_print(a->run, "txt|txt.gz\n");
}

static void offer_commands(const asked *a)
{
    for (const cli_command *const *command = cli_commands; *command; command++)
        if (!(*command)->parent) offer(a, (*command)->name, "", (*command)->summary);
    for (size_t i = 0; i < hd_report_count(); i++) {
        const char *name = hd_report_at(i)->name;
        if (cli_resolve(&name, 1).report) offer(a, name, "", hd_report_at(i)->title);
    }
}

static void offer_formats(const asked *a)
{
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format_info *info = hd_format_at(i);
        if (info->writes) offer(a, info->name, "", info->title);
    }
}

/* The name of a pass, or behind its colon its options. */
static void offer_passes(asked *a)
{
    const char *colon = strchr(a->begun, ':'), *comma = strrchr(a->begun, ',');
    for (size_t i = 0; i <= hd_pass_count(); i++) {
        const hd_pass_about *about = i < hd_pass_count() ? hd_pass_at(i) : hd_symbolize_pass();
        if (!colon) offer(a, about->name, "", about->summary);
        if (!colon || strlen(about->name) != (size_t)(colon - a->begun) ||
            strncmp(about->name, a->begun, strlen(about->name)) != 0)
            continue;
        set_head(a, comma ? comma + 1 : colon + 1);
        for (const hd_option_about *o = about->options; o->name; o++)
            offer(a, o->name, o->kind == HD_OPTION_FLAG ? "" : "=", o->meaning);
        return;
    }
}

static void offer_reports(const asked *a)
{
    for (size_t i = 0; i < hd_report_count(); i++) offer(a, hd_report_at(i)->name, "", hd_report_at(i)->title);
}

static void offer_codes(const asked *a)
{
    for (size_t i = 0; i < hd_check_code_count(); i++)
        offer(a, hd_check_code_at(i)->code, "", hd_check_code_at(i)->meaning);
}

/* Those of the first trace on the line. */
static void offer_categories(const asked *a)
{
    for (int i = 0; i < a->count - 1; i++) {
        struct stat about;
        hd_trace *trace;
        hd_report report;
        size_t size = strlen(a->words[i]);
        const hd_read_options read = {.lazy = true};
        if (a->words[i][0] == '-' || stat(a->words[i], &about) != 0 || !S_ISREG(about.st_mode)) continue;
        if (about.st_size > READ_BYTES_MAX && !cli_ends_with(a->words[i], size, ".heddle")) return;
        if (hd_trace_read(&trace, a->words[i], &read, NULL) != HD_OK) continue;
        if (hd_report_info(&report, trace, NULL) == HD_OK) {
            const hd_table *table = hd_report_table(&report, "categories");
            for (size_t row = 0; row < hd_table_row_count(table); row++) {
                size_t text_size;
                char text[128];
                if (hd_table_is_null(table, row, 1)) continue;
                const char *category = hd_table_get_string(&text_size, table, row, 1);
                if (text_size >= sizeof text || memchr(category, '\n', text_size) ||
                    memchr(category, '\t', text_size) || memchr(category, ',', text_size))
                    continue;
                snprintf(text, sizeof text, "%.*s", (int)text_size, category);
                offer(a, text, "", "category");
            }
            hd_report_free(&report);
        }
        hd_trace_free(trace);
        return;
    }
}

/* Words separated by blanks; <…> are placeholders for lists. */
static void offer_listed(asked *a, const char *list)
{
    static const struct {
        const char *name;
        void (*offer)(const asked *a);
    } kinds[] = {{"<files>", offer_files}, {"<commands>", offer_commands}, {"<formats>", offer_formats},
                 {"<codes>", offer_codes}, {"<reports>", offer_reports},   {"<categories>", offer_categories}};
    for (; *list; list += strspn(list, " ")) {
        char word[32];
        size_t size = strcspn(list, " ");
        bool done = false;
        snprintf(word, sizeof word, "%.*s", (int)size, list);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !done; i++) {
            if ((done = strcmp(word, kinds[i].name) == 0)) kinds[i].offer(a);
        }
        if (strcmp(word, "<passes>") == 0)
            offer_passes(a);
        else if (strcmp(word, "<folders>") == 0 || strcmp(word, "<programs>") == 0)
            cli_print(a->run, ":%.*s\t\n", (int)size - 2, word + 1);
        else if (!done)
            offer(a, word, "", "");
        list += size;
    }
}

/* ---- the line ---- */

static void offer_value(asked *a, const cli_option *option)
{
    const char *comma = strrchr(a->begun, ',');
    bool is_list = option->kind == CLI_CHOICES ||
                   (option->offer && option->value && cli_ends_with(option->value, strlen(option->value), ",...")) ||
                   (option->value && strcmp(option->value, "PATTERNS") == 0);
    if (comma && is_list) set_head(a, comma + 1);
    for (const char *const *choice = option->choices; choice && *choice; choice++) offer(a, *choice, "", "");
    if (option->offer)
        offer_listed(a, option->offer);
    else if (option->value && strcmp(option->value, "FILE") == 0)
        cli_print(a->run, ":files\t\n");
    else if (option->value && (strcmp(option->value, "DIR") == 0 || strcmp(option->value, "FOLDER") == 0))
        cli_print(a->run, ":folders\t\n");
}

static void offer_options(asked *a, const cli_option *options, bool global)
{
    for (const cli_option *o = options; o && o->name; o++) {
        if (o->old || (global && !cli_global_applies(o, a->command))) continue;
        a->head = "--";
        a->head_size = 2;
        offer(a, o->name, "", o->help);
    }
}

static const cli_option *option_of(const asked *a, const char *name, size_t size, char letter)
{
    const cli_option *tables[] = {a->command ? a->command->options : NULL, cli_more_options(a->command, a->operand),
                                  cli_global_options};
    for (int i = 0; i < 3; i++) {
        for (const cli_option *o = tables[i]; o && o->name; o++) {
            if (letter ? o->letter == letter : strlen(o->name) == size && memcmp(o->name, name, size) == 0) return o;
        }
    }
    return NULL;
}

/* A report typed like a command means `report` with that topic; a file is its operand. */
static void set_command(asked *a, const char *word)
{
    const cli_asked found = cli_resolve(&word, 1);
    a->command = found.command;
    a->operand = found.report ? found.report : found.used ? NULL : word;
    a->operands = a->operand != NULL;
}

/* The option that a word has; of letters the last. */
static const cli_option *option_in(const asked *a, const char *word)
{
    if (word[1] == '-') return option_of(a, word + 2, strcspn(word + 2, "="), '\0');
    return option_of(a, NULL, 0, word[strlen(word) - 1]);
}

/* One word before the last. */
static void pass_word(asked *a, const char *word)
{
    if (a->pending) {
        a->pending = NULL;
    } else if (a->options_end || word[0] != '-' || !word[1]) {
        const cli_asked below =
            a->command && !a->operands ? cli_resolve((const char *[]){a->command->name, word}, 2) : (cli_asked){0};
        if (below.used == 2)
            a->command = below.command;
        else if (a->command && !a->operands++)
            a->operand = word;
        else if (!a->command)
            set_command(a, word);
    } else if (strcmp(word, "--") == 0) {
        a->options_end = true;
    } else {
        const cli_option *option = option_in(a, word);
        /* as cli_parse does: of the command of a line that names none */
        if (!option && !a->command) {
            a->command = cli_resolve(&word, 1).command;
            option = option_in(a, word);
        }
        bool has_value = word[1] == '-' && strchr(word, '=');
        if (option && !has_value && !cli_is_flag(option) && !option->alone) a->pending = option;
    }
}

static void offer_operand(asked *a)
{
    for (const cli_command *const *c = cli_commands; a->command && !a->operands && *c; c++)
        if ((*c)->parent && strcmp((*c)->parent, a->command->name) == 0) offer(a, (*c)->name, "", (*c)->summary);
    if (!a->command) {
        offer_commands(a);
        offer_files(a);
    } else if (a->command->operands_are_command)
        cli_print(a->run, "%s\t\n", a->operands ? ":files" : ":programs");
    else if (a->command->more_options && a->operands && cli_has_topic(a->command, a->operand))
        offer_files(a);
    else if (a->command->offer)
        offer_listed(a, a->command->offer);
}

void cli_complete(cli_run *run, const char *const *words, int count)
{
    asked a = {.run = run, .words = words, .count = count};
    for (int i = 0; i < count - 1; i++) {
        pass_word(&a, words[i]);
        if (a.command && a.command->operands_are_command && a.operands) break; /* the rest is of another program */
    }
    const char *last = words[count - 1], *equals = strchr(last, '=');
    a.head = a.begun = last;
    if (a.pending) {
        offer_value(&a, a.pending);
    } else if (last[0] != '-' || a.options_end || (a.command && a.command->operands_are_command && a.operands)) {
        offer_operand(&a);
    } else if (last[1] == '-' && equals) {
        const cli_option *option = option_of(&a, last + 2, (size_t)(equals - last - 2), '\0');
        set_head(&a, equals + 1);
        if (option) offer_value(&a, option);
    } else {
        a.begun = last + strspn(last, "-");
        if (a.begun - last == 1 && *a.begun) return; /* letters */
        offer_options(&a, a.command ? a.command->options : NULL, false);
        offer_options(&a, cli_more_options(a.command, a.operand), false);
        offer_options(&a, cli_global_options, true);
    }
}
