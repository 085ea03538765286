/* findings_out.h - findings as text: sentences that can be read whole */
#ifndef HD_CLI_FINDINGS_OUT_H
#define HD_CLI_FINDINGS_OUT_H

#include "cli/cli.h"
#include "heddle/table.h"

/* Whether a table is one of findings: it has the columns code, finding, advice and saves. */
bool cli_is_findings(const hd_table *table);
/* Its first rows, wrapped to the terminal: what each saves, the sentence, and of the first three what to change. */
void cli_print_findings(cli_run *run, const hd_table *table, size_t rows);

#endif
