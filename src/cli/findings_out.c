/* findings_out.c - findings as text */
#include "cli/findings_out.h"

#include <string.h>

#include "cli/report_out.h"

enum { NARROW = 40, NO_TERMINAL = 100, WITH_ADVICE = 3 };

bool cli_is_findings(const hd_table *table)
{
    static const char *const names[] = {"code", "finding", "advice", "saves"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hd_table_find_column(table, names[i]) == SIZE_MAX) return false;
    return true;
}

/* Columns of a terminal that a word takes: its code points. */
static size_t width_of(const char *text, size_t size)
{
    size_t width = 0;
    for (size_t i = 0; i < size; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static size_t columns_of_screen(const cli_run *run)
{
    return run->is_terminal && run->width >= NARROW ? run->width : NO_TERMINAL;
}

/* Prints words, or with `prints` false nothing; returns the lines that they take. */
static unsigned wrap(cli_run *run, bool prints, const char *text, size_t size, unsigned indent, unsigned most)
{
    unsigned lines = 1;
    size_t width = columns_of_screen(run), used = indent;
    for (size_t i = 0, end; i < size; i = end) {
        for (end = i + 1; end < size && text[end] != ' ';) end++;
        const char *word = text + i + (text[i] == ' ');
        size_t bytes = (size_t)(text + end - word), columns = width_of(word, bytes);
        bool is_last = most && lines == most;
        if (is_last && used + 1 + columns + (end < size ? 2 : 0) > width) {
            if (prints) cli_print(run, "%s\xe2\x80\xa6", used > indent ? " " : "");
            break;
        }
        if (used > indent && used + 1 + columns > width) {
            if (prints) cli_print(run, "\n%*s", (int)indent, "");
            used = indent;
            lines++;
        } else if (i) {
            if (prints) cli_print(run, " ");
            used++;
        }
        if (prints) report_print_safe(run, word, bytes);
        used += columns;
    }
    return lines;
}

unsigned cli_print_wrapped(cli_run *run, const char *head, const char *text, size_t size, unsigned indent,
                           unsigned most)
{
    cli_print(run, "%*s%s", (int)(indent - width_of(head, strlen(head))), "", head);
    unsigned lines = wrap(run, true, text, size, indent, most);
    cli_print(run, "\n");
    return lines;
}

unsigned cli_print_clauses(cli_run *run, const char *head, const char *text, size_t size, unsigned indent,
                           unsigned most)
{
    size_t fits = 0;
    int depth = 0;
    if (wrap(run, false, text, size, indent, 0) <= most) return cli_print_wrapped(run, head, text, size, indent, most);
    for (size_t i = 0; i + 1 < size && wrap(run, false, text, i + 1, indent, 0) <= most; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (!depth && text[i + 1] == ' ' && memchr(",;.", text[i], 3)) fits = i;
    }
    if (!fits) return cli_print_clauses(run, head, text, size, indent, most + 1);
    char clauses[2048];
    if (fits > sizeof clauses - 1) fits = sizeof clauses - 1;
    memcpy(clauses, text, fits);
    clauses[fits] = '.';
    return cli_print_wrapped(run, head, clauses, fits + 1, indent, most);
}

static void print_cell(cli_run *run, cli_look look, const char *head, const hd_table *table, size_t row,
                       const char *name)
{
    size_t size, column = hd_table_find_column(table, name);
    if (column == SIZE_MAX || hd_table_is_null(table, row, column)) return;
    const char *text = hd_table_get_string(&size, table, row, column);
    cli_print(run, "%s", look == CLI_PLAIN ? "" : cli_style(run, look));
    cli_print_wrapped(run, head, text, size, 5, 0);
    cli_print(run, "%s", look == CLI_PLAIN ? "" : cli_style(run, CLI_PLAIN));
}

/* "12.3ms" of a column into out; false: it has no value. */
static bool duration(char *out, const hd_table *table, size_t row, const char *name)
{
    size_t column = hd_table_find_column(table, name);
    if (column == SIZE_MAX || hd_table_is_null(table, row, column)) return false;
    hd_text_duration(out, hd_table_get_int(table, row, column));
    return true;
}

static void print_place(cli_run *run, const hd_table *table, size_t row)
{
    static const char *const names[] = {"rank", "device"};
    for (size_t i = 0; i < 2; i++) {
        size_t column = hd_table_find_column(table, names[i]);
        if (column != SIZE_MAX && !hd_table_is_null(table, row, column))
            cli_print(run, "  %s %lld", names[i], (long long)hd_table_get_int(table, row, column));
    }
}

static void print_finding(cli_run *run, const hd_table *table, size_t row)
{
    char saves[HD_VALUE_TEXT_BYTES], then[HD_VALUE_TEXT_BYTES];
    size_t size, how_size;
    const char *code = hd_table_get_string(&size, table, row, hd_table_find_column(table, "code"));
    size_t how = hd_table_find_column(table, "how"), behind = hd_table_find_column(table, "behind");
    cli_print(run, "  %zu  %s%.*s%s", row + 1, cli_style(run, CLI_BOLD), (int)size, code, cli_style(run, CLI_PLAIN));
    if (!duration(saves, table, row, "saves")) {
        cli_print(run, "  saving not known");
    } else if (how != SIZE_MAX && !hd_table_is_null(table, row, how)) {
        const char *by = hd_table_get_string(&how_size, table, row, how);
        cli_print(run, "  saves %s at most (by %.*s)", saves, (int)how_size, by);
    }
    if (duration(then, table, row, "then") && behind != SIZE_MAX && !hd_table_is_null(table, row, behind)) {
        code = hd_table_get_string(&size, table, row, behind);
        cli_print(run, ", %s once %.*s is solved", then, (int)size, code);
    }
    print_place(run, table, row);
    cli_print(run, "\n");
    print_cell(run, CLI_PLAIN, "", table, row, "finding");
    print_cell(run, CLI_DIM, "? ", table, row, "reason");
    print_cell(run, CLI_DIM, "? ", table, row, "trust_reason");
    if (row < WITH_ADVICE) print_cell(run, CLI_PLAIN, "> ", table, row, "advice");
}

void cli_print_findings(cli_run *run, const hd_table *table, size_t rows)
{
    for (size_t row = 0; row < rows; row++) print_finding(run, table, row);
}
