/* folded.c - folded stacks as the list of formats sees them */
#include "format/folded/folded.h"

const hd_format hd_folded_format = {
    .info = {.name = "folded",
             .title = "Folded stacks, plain and with time and thread",
             .extensions = ".folded",
             .reads = true,
             .keeps = "stacks with their weights, or with time, thread and CPU",
             .loses = "nothing, as nothing writes it here"},
    .sniff = folded_sniff,
    .read = folded_read,
    .code = &hd_text_lines_code,
};
