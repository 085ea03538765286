/* findings_out.h - findings as text: sentences that can be read whole */
#ifndef HD_CLI_FINDINGS_OUT_H
#define HD_CLI_FINDINGS_OUT_H

#include "cli/cli.h"
#include "heddle/table.h"

/* Whether a table has findings: the columns code, finding, advice and saves. */
bool cli_is_findings(const hd_table *table);
/* Prints words on lines as wide as the terminal, each line behind `indent` blanks, the first behind `head`; of more
 * than `most` lines (0: any) the last ends with an ellipsis. Returns how many lines. */
unsigned cli_print_wrapped(cli_run *run, const char *head, const char *text, size_t size, unsigned indent,
                           unsigned most);
/* The same, but a text of more lines ends with the last clause that fits, and a full stop; if not even the first
 * does, it has as many lines as that needs. */
unsigned cli_print_clauses(cli_run *run, const char *head, const char *text, size_t size, unsigned indent,
                           unsigned most);
/* Prints the first rows, wrapped to the terminal: for each, the saving and the sentence; for the first three also the
 * advice. */
void cli_print_findings(cli_run *run, const hd_table *table, size_t rows);

#endif
