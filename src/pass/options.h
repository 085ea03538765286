/* options.h - the values of a table of options (heddle/options.h), from texts: of a pass, of a report */
#ifndef HD_PASS_OPTIONS_H
#define HD_PASS_OPTIONS_H

#include "base/memory/arena.h"
#include "heddle/options.h"

typedef struct hd_option_values {
    const hd_option_about *about; /* ends with {0}; NULL: none */
    void *values;                 /* the struct that the table is of */
    hd_arena texts;               /* what it points to */
} hd_option_values;

/* A struct of `size` bytes, with the defaults. */
hd_status hd_option_values_init(hd_option_values *out, const hd_option_about *about, size_t size, hd_error *err);
void hd_option_values_deinit(hd_option_values *values);
/* Sets one more option. value NULL: the name was given alone; else it must live as long as the values. `of` is "pass
 * crop", for messages. Errors: ARGUMENT, MEMORY. */
hd_status hd_option_values_set(hd_option_values *values, const char *of, const char *name, const char *value,
                               hd_error *err);

/* "-1.5ms". Errors: ARGUMENT. */
hd_status hd_option_set_offset(hd_convert_time *out, const char *text, hd_error *err);

/* "a, b, c" into text. */
void hd_name_list_add(char *text, size_t size, const char *name);

#endif
