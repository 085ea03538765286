/* abi.h - the part of NVTX's binary interface that a tracer uses, in our own words
 *
 * NVTX is headers in the program. At its first call the program loads the library of $NVTX_INJECTION64_PATH and calls
 * InitializeInjectionNvtx2 with a function that finds tables; the tracer requests the tables of the modules CORE and
 * CORE2 and stores its own functions where the entries point. Each table is an array of pointers to function pointers;
 * an entry may be NULL. The same since NVTX 2; checked against the real headers, where there are any, by
 * tests/capture/test_nvtx_abi.c.
 */
#ifndef HD_CAPTURE_CUDA_NVTX_ABI_H
#define HD_CAPTURE_CUDA_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CUDA = 2, NVTX_MODULE_CUDART = 4, NVTX_MODULE_CORE2 = 5 };

typedef void (*nvtx_function)(void);

typedef const void *(*nvtx_get_table)(uint32_t id);
typedef int (*nvtx_injection)(nvtx_get_table get_table); /* InitializeInjectionNvtx2: 1 is success */

typedef struct nvtx_callbacks_table {
    size_t bytes;                                                                          /* of the struct */
    int (*get_module)(uint32_t module, nvtx_function ***out_table, unsigned *out_entries); /* 1 is success */
} nvtx_callbacks_table;

typedef struct nvtx_version_table {
    size_t bytes;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
} nvtx_version_table;

/* Entries of NVTX_MODULE_CORE. */
enum {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A = 2,
    NVTX_MARK_W = 3,
    NVTX_RANGE_START_EX = 4,
    NVTX_RANGE_START_A = 5,
    NVTX_RANGE_START_W = 6,
    NVTX_RANGE_END = 7,
    NVTX_PUSH_EX = 8,
    NVTX_PUSH_A = 9,
    NVTX_PUSH_W = 10,
    NVTX_POP = 11,
    NVTX_NAME_CATEGORY_A = 12,
    NVTX_NAME_CATEGORY_W = 13,
    NVTX_NAME_THREAD_A = 14,
    NVTX_NAME_THREAD_W = 15,
};

/* Entries of NVTX_MODULE_CORE2. */
enum {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_RANGE_START_EX = 2,
    NVTX_DOMAIN_RANGE_END = 3,
    NVTX_DOMAIN_PUSH_EX = 4,
    NVTX_DOMAIN_POP = 5,
    NVTX_DOMAIN_RESOURCE_CREATE = 6,
    NVTX_DOMAIN_RESOURCE_DESTROY = 7,
    NVTX_DOMAIN_NAME_CATEGORY_A = 8,
    NVTX_DOMAIN_NAME_CATEGORY_W = 9,
    NVTX_DOMAIN_REGISTER_A = 10,
    NVTX_DOMAIN_REGISTER_W = 11,
    NVTX_DOMAIN_CREATE_A = 12,
    NVTX_DOMAIN_CREATE_W = 13,
    NVTX_DOMAIN_DESTROY = 14,
    NVTX_INITIALIZE = 15,
};

/* Entries of NVTX_MODULE_CUDART and of NVTX_MODULE_CUDA: names of streams. */
enum { NVTX_CUDART_NAME_STREAM_A = 3, NVTX_CUDART_NAME_STREAM_W = 4 };
enum { NVTX_CUDA_NAME_STREAM_A = 5, NVTX_CUDA_NAME_STREAM_W = 6 };

enum { NVTX_TEXT_NONE = 0, NVTX_TEXT_ASCII = 1, NVTX_TEXT_WIDE = 2, NVTX_TEXT_REGISTERED = 3 };
enum { NVTX_COLOUR_NONE = 0, NVTX_COLOUR_ARGB = 1 };
enum {
    NVTX_PAYLOAD_NONE = 0,
    NVTX_PAYLOAD_UINT64 = 1,
    NVTX_PAYLOAD_INT64 = 2,
    NVTX_PAYLOAD_DOUBLE = 3,
    NVTX_PAYLOAD_UINT32 = 4,
    NVTX_PAYLOAD_INT32 = 5,
    NVTX_PAYLOAD_FLOAT = 6,
};

/* The attributes of a mark or range. The program's struct may be of a later version and longer, or shorter: see
 * `bytes`. */
typedef struct nvtx_event {
    uint16_t version, bytes;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t text_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        void *registered; /* returned by the tracer's function for REGISTER */
    } text;
} nvtx_event;

typedef void *nvtx_domain; /* returned by the tracer's function for CREATE */
typedef uint64_t nvtx_range;

/* Functions of the tables, by their parameters. */
typedef void (*nvtx_fn_mark_ex)(const nvtx_event *event);
typedef void (*nvtx_fn_mark_a)(const char *text);
typedef void (*nvtx_fn_mark_w)(const wchar_t *text);
typedef nvtx_range (*nvtx_fn_range_start_ex)(const nvtx_event *event);
typedef nvtx_range (*nvtx_fn_range_start_a)(const char *text);
typedef nvtx_range (*nvtx_fn_range_start_w)(const wchar_t *text);
typedef void (*nvtx_fn_range_end)(nvtx_range id);
typedef int (*nvtx_fn_push_ex)(const nvtx_event *event); /* the depth from 0, below 0 for an error */
typedef int (*nvtx_fn_push_a)(const char *text);
typedef int (*nvtx_fn_push_w)(const wchar_t *text);
typedef int (*nvtx_fn_pop)(void);
typedef void (*nvtx_fn_name_a)(uint32_t number, const char *name); /* of a category, a thread */
typedef void (*nvtx_fn_name_w)(uint32_t number, const wchar_t *name);
typedef void (*nvtx_fn_domain_mark_ex)(nvtx_domain domain, const nvtx_event *event);
typedef nvtx_range (*nvtx_fn_domain_range_start_ex)(nvtx_domain domain, const nvtx_event *event);
typedef void (*nvtx_fn_domain_range_end)(nvtx_domain domain, nvtx_range id);
typedef int (*nvtx_fn_domain_push_ex)(nvtx_domain domain, const nvtx_event *event);
typedef int (*nvtx_fn_domain_pop)(nvtx_domain domain);
typedef void (*nvtx_fn_domain_name_a)(nvtx_domain domain, uint32_t number, const char *name);
typedef void (*nvtx_fn_domain_name_w)(nvtx_domain domain, uint32_t number, const wchar_t *name);
typedef void *(*nvtx_fn_domain_register_a)(nvtx_domain domain, const char *text);
typedef void *(*nvtx_fn_domain_register_w)(nvtx_domain domain, const wchar_t *text);
typedef nvtx_domain (*nvtx_fn_domain_create_a)(const char *name);
typedef nvtx_domain (*nvtx_fn_domain_create_w)(const wchar_t *name);
typedef void (*nvtx_fn_domain_destroy)(nvtx_domain domain);
typedef void (*nvtx_fn_initialize)(const void *reserved);
typedef void (*nvtx_fn_name_stream_a)(void *stream, const char *name);
typedef void (*nvtx_fn_name_stream_w)(void *stream, const wchar_t *name);

#endif
