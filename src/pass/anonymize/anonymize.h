/* anonymize.h - replaces texts by which a user, a host or a program can be recognised
 *
 * Times, numbers, ids, the structure and thereby all sums stay. A text stays if its words are public (words.c); of
 * other texts each other word becomes x and 16 hexadecimal digits of a keyed hash, so that equal words stay equal.
 *
 * In: a trace. Out: a trace of the same events. Begin with anonymize.c; text.c replaces words.
 */
#ifndef HD_PASS_ANONYMIZE_ANONYMIZE_H
#define HD_PASS_ANONYMIZE_ANONYMIZE_H

#include "pass/copy/copy.h"

typedef struct hd_anonymize {
    const char *kinds; /* "names,paths,args,hosts" or some of them; NULL: paths, args and hosts */
    const char *salt;  /* of the hash; NULL: a random one for each trace */
} hd_anonymize;

/* ARGUMENT: a kind that is none, an empty salt. */
hd_status hd_anonymize_valid(const hd_anonymize *options, hd_error *err);

/* The caller frees the trace. Its ledger has notes with the number of texts that were replaced. */
hd_status hd_anonymize_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_anonymize *options,
                             hd_error *err);

#endif
