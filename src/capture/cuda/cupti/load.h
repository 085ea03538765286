/* load.h - libcupti, found at run time
 *
 * There may be several: that of the program (PyTorch brings one), those of installed toolkits. Looked for in this
 * order, and the first that is old enough for the driver and takes us is used:
 *
 *   $HEDDLE_CUPTI, a path; the one the program has loaded; next to libcudart, libtorch and what pip installs next to
 *   them; $CUDA_HOME, $CUDA_PATH; where the loader looks; /usr/local/cuda.
 */
#ifndef HD_CAPTURE_CUDA_CUPTI_LOAD_H
#define HD_CAPTURE_CUDA_CUPTI_LOAD_H

#include <limits.h>
#include <stdbool.h>

#include "capture/cuda/cupti/abi.h"

/* Functions, by the name of the symbol behind "cupti". */
#define CUPTI_NEEDED(X)                                                                                                \
    X(GetVersion)                                                                                                      \
    X(GetResultString)                                                                                                 \
    X(GetTimestamp)                                                                                                    \
    X(Subscribe)                                                                                                       \
    X(Unsubscribe)                                                                                                     \
    X(EnableCallback)                                                                                                  \
    X(ActivityRegisterCallbacks)                                                                                       \
    X(ActivityEnable)                                                                                                  \
    X(ActivityDisable)                                                                                                 \
    X(ActivityFlushAll)                                                                                                \
    X(ActivityGetNextRecord)                                                                                           \
    X(ActivityGetNumDroppedRecords)
#define CUPTI_OPTIONAL(X)                                                                                              \
    X(ActivityEnableRuntimeApi)                                                                                        \
    X(ActivityEnableDriverApi)                                                                                         \
    X(ActivityEnableAllSyncRecords)                                                                                    \
    X(ActivityRegisterTimestampCallback)                                                                               \
    X(SetThreadIdType)                                                                                                 \
    X(GetThreadIdType)                                                                                                 \
    X(GetGraphNodeId)                                                                                                  \
    X(GetCallbackName)                                                                                                 \
    X(Subscribe_v2)

#define CUPTI_MEMBER(name) cupti_fn_##name name;
typedef struct cuda_cupti {
    void *library; /* of dlopen; stays open */
    uint32_t version;
    char path[PATH_MAX];
    CUPTI_NEEDED(CUPTI_MEMBER)
    CUPTI_OPTIONAL(CUPTI_MEMBER) /* NULL in versions that have none */
} cuda_cupti;
#undef CUPTI_MEMBER

/* file_version.c: a number that grows with the version of CUDA, whose major number is from this bit on. 0: not known,
 * an old one. */
enum { CUPTI_FILE_MAJOR_BIT = 48 };
uint64_t cuda_cupti_file_version(const char *path);

/* Checks a library after loading it: false, with the reason in `why`, and the next one is tried. */
typedef bool cupti_accepts(const cuda_cupti *cupti, void *user, char *why, size_t why_bytes);

/* false: none was found, and `why` says what was tried. true: `why` is empty, or says what is wrong with $HEDDLE_CUPTI.
 */
bool cuda_cupti_load(cuda_cupti *out, cupti_accepts *accepts, void *user, char *why, size_t why_bytes);

/* "CUPTI_ERROR_…", never NULL. */
const char *cuda_cupti_text(const cuda_cupti *cupti, cupti_status status);

/* What a refusal comes of, and what to do: a sentence, "" where nothing is known. */
const char *cuda_cupti_advice(cupti_status status);

#endif
