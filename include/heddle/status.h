/* status.h - errors of all libheddle functions
 *
 * A function that can fail returns hd_status and takes `hd_error *err` last. The caller owns the error and may pass
 * NULL. The first failure sets it; callers in the library add what they were doing; it is never overwritten. There is
 * no global state.
 *
 *     hd_error err = {0};
 *     char text[HD_ERROR_TEXT_BYTES];
 *     if (hd_trace_read(&trace, path, NULL, &err) != HD_OK)
 *         fprintf(stderr, "%s\n", hd_error_text(text, sizeof text, &err));
 *
 * Options
 *   Options are structs named hd_…_options; all zeros, or NULL, are the defaults. Later releases add members at the
 *   end, and programs that were built before continue to work: the first member, `size`, is sizeof the struct for the
 *   program's compiler. 0 means the members of the first release with the struct, which is right unless the program
 *   sets a later member; a later member says so in its comment. A nonzero member that the library is too old to know
 *   is ARGUMENT.
 */
#ifndef HEDDLE_STATUS_H
#define HEDDLE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HD_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#else
#define HD_PRINTF(format_index, first_arg)
#endif

typedef enum hd_status {
    HD_OK = 0,
    HD_END,             /* no more items; not a failure */
    HD_ERR_ARGUMENT,    /* the caller passed an invalid value */
    HD_ERR_MEMORY,      /* the system gave no memory */
    HD_ERR_IO,          /* open, read, write or rename failed */
    HD_ERR_FORMAT,      /* no reader recognises the input */
    HD_ERR_DAMAGED,     /* the input was recognised, but is damaged beyond repair, or repair was refused */
    HD_ERR_LIMIT,       /* a stated limit was passed */
    HD_ERR_UNSUPPORTED, /* this build or this format cannot do it */
    HD_ERR_INTERNAL,    /* figures that must agree do not: a fault of this library */
} hd_status;

enum {
    HD_ERROR_MESSAGE_BYTES = 256,
    HD_ERROR_PATH_BYTES = 256,
    HD_ERROR_CAUSES = 3,
    HD_ERROR_TEXT_BYTES = 1536 /* holds all of an error */
};

#define HD_OFFSET_NONE UINT64_MAX /* no byte offset applies */

/* Zero-initialised is "no error": `hd_error err = {0};`. Text is always terminated. */
typedef struct hd_error {
    hd_status status;
    uint64_t offset;                      /* byte offset in the (decompressed) input, or HD_OFFSET_NONE */
    char path[HD_ERROR_PATH_BYTES];       /* file the failure is about, "" if none; long paths keep their tail */
    char message[HD_ERROR_MESSAGE_BYTES]; /* what was found and what was expected */
    uint32_t cause_count;
    char causes[HD_ERROR_CAUSES][HD_ERROR_MESSAGE_BYTES]; /* what was being done, innermost first */
} hd_error;

/* The name of a status, for messages: "damaged input". Static. */
const char *hd_status_name(hd_status status);

/* Set *err unless it is NULL or already set; returns `status`, so that a failing function can `return` it. */
hd_status hd_error_set(hd_error *err, hd_status status, const char *path, uint64_t offset, const char *format, ...)
    HD_PRINTF(5, 6);

/* Say what was being done when the error happened. Beyond HD_ERROR_CAUSES causes are dropped. */
void hd_error_add_cause(hd_error *err, const char *format, ...) HD_PRINTF(2, 3);

/* The whole error as one line without its newline, outermost cause first, cut to size - 1 bytes; returns out.
 * "cannot read a.heddle: a block of 812 slices: at byte 4096: its checksum differs". The file's path is printed before
 * the offset, unless the text of a cause already contains it. Names in it are unchanged input: escape control
 * characters before printing. */
char *hd_error_text(char *out, size_t size, const hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
