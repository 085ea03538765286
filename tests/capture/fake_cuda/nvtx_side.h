/* nvtx_side.h - a test double of the program's side of NVTX: what nvtx3/nvToolsExt.h does, as far as the tests use it
 *
 * For machines without CUDA's headers. The functions have the real names; what stands between them and the tool is the
 * protocol of capture/cuda/nvtx/abi.h, which test_nvtx_abi.c holds to the real headers. */
#ifndef HD_TESTS_CAPTURE_NVTX_SIDE_H
#define HD_TESTS_CAPTURE_NVTX_SIDE_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "capture/cuda/nvtx/abi.h"

static struct {
    pthread_once_t once;
    nvtx_function core[16], core2[16];
    nvtx_function *core_table[17], *core2_table[17];
} nvtx_double = {.once = PTHREAD_ONCE_INIT};

static int nvtx_double_module(uint32_t module, nvtx_function ***out_table, unsigned *out_entries)
{
    if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2) return 0;
    *out_table = module == NVTX_MODULE_CORE ? nvtx_double.core_table : nvtx_double.core2_table;
    *out_entries = 16;
    return 1;
}

static const void *nvtx_double_export(uint32_t id)
{
    static const nvtx_callbacks_table callbacks = {sizeof callbacks, nvtx_double_module};
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void nvtx_double_load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    nvtx_injection start = library ? (nvtx_injection)dlsym(library, "InitializeInjectionNvtx2") : NULL;
    for (int i = 1; i < 16; i++) {
        nvtx_double.core_table[i] = &nvtx_double.core[i];
        nvtx_double.core2_table[i] = &nvtx_double.core2[i];
    }
    if (start && start(nvtx_double_export)) return;
    for (int i = 0; i < 16; i++) nvtx_double.core[i] = nvtx_double.core2[i] = NULL;
}

static inline nvtx_function nvtx_double_find(const nvtx_function *table, int entry)
{
    pthread_once(&nvtx_double.once, nvtx_double_load);
    return table[entry];
}

#define NVTX_CALL(table, entry, type, none, ...)                                                                       \
    type function = (type)nvtx_double_find(nvtx_double.table, entry);                                                  \
    return function ? function(__VA_ARGS__) : none
#define NVTX_TELL(table, entry, type, ...)                                                                             \
    type function = (type)nvtx_double_find(nvtx_double.table, entry);                                                  \
    if (function) function(__VA_ARGS__)

typedef nvtx_range nvtxRangeId_t;
typedef nvtx_domain nvtxDomainHandle_t;
typedef void *nvtxStringHandle_t;

/* As the real one, by its names. */
typedef struct nvtxEventAttributes_t {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;
_Static_assert(sizeof(nvtxEventAttributes_t) == sizeof(nvtx_event), "as the protocol has it");

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED };
enum { NVTX_COLOR_ARGB = 1 };
enum {
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64,
    NVTX_PAYLOAD_TYPE_DOUBLE,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
    NVTX_PAYLOAD_TYPE_INT32,
    NVTX_PAYLOAD_TYPE_FLOAT,
};

static inline void nvtxMarkEx(const nvtxEventAttributes_t *event)
{
    NVTX_TELL(core, NVTX_MARK_EX, nvtx_fn_mark_ex, (const nvtx_event *)event);
}

static inline void nvtxMarkA(const char *text)
{
    NVTX_TELL(core, NVTX_MARK_A, nvtx_fn_mark_a, text);
}

static inline nvtxRangeId_t nvtxRangeStartA(const char *text)
{
    NVTX_CALL(core, NVTX_RANGE_START_A, nvtx_fn_range_start_a, 0, text);
}

static inline nvtxRangeId_t nvtxRangeStartW(const wchar_t *text)
{
    NVTX_CALL(core, NVTX_RANGE_START_W, nvtx_fn_range_start_w, 0, text);
}

static inline void nvtxRangeEnd(nvtxRangeId_t id)
{
    NVTX_TELL(core, NVTX_RANGE_END, nvtx_fn_range_end, id);
}

static inline int nvtxRangePushEx(const nvtxEventAttributes_t *event)
{
    NVTX_CALL(core, NVTX_PUSH_EX, nvtx_fn_push_ex, -2, (const nvtx_event *)event);
}

static inline int nvtxRangePushA(const char *text)
{
    NVTX_CALL(core, NVTX_PUSH_A, nvtx_fn_push_a, -2, text);
}

static inline int nvtxRangePushW(const wchar_t *text)
{
    NVTX_CALL(core, NVTX_PUSH_W, nvtx_fn_push_w, -2, text);
}

static inline int nvtxRangePop(void)
{
    NVTX_CALL(core, NVTX_POP, nvtx_fn_pop, -2);
}

static inline void nvtxNameOsThreadA(uint32_t tid, const char *name)
{
    NVTX_TELL(core, NVTX_NAME_THREAD_A, nvtx_fn_name_a, tid, name);
}

static inline nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    NVTX_CALL(core2, NVTX_DOMAIN_CREATE_A, nvtx_fn_domain_create_a, NULL, name);
}

static inline void nvtxDomainDestroy(nvtxDomainHandle_t domain)
{
    NVTX_TELL(core2, NVTX_DOMAIN_DESTROY, nvtx_fn_domain_destroy, domain);
}

static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    NVTX_CALL(core2, NVTX_DOMAIN_PUSH_EX, nvtx_fn_domain_push_ex, -2, domain, (const nvtx_event *)event);
}

static inline int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
    NVTX_CALL(core2, NVTX_DOMAIN_POP, nvtx_fn_domain_pop, -2, domain);
}

static inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    NVTX_CALL(core2, NVTX_DOMAIN_RANGE_START_EX, nvtx_fn_domain_range_start_ex, 0, domain, (const nvtx_event *)event);
}

static inline void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    NVTX_TELL(core2, NVTX_DOMAIN_RANGE_END, nvtx_fn_domain_range_end, domain, id);
}

static inline void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    NVTX_TELL(core2, NVTX_DOMAIN_MARK_EX, nvtx_fn_domain_mark_ex, domain, (const nvtx_event *)event);
}

static inline void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    NVTX_TELL(core2, NVTX_DOMAIN_NAME_CATEGORY_A, nvtx_fn_domain_name_a, domain, category, name);
}

static inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *text)
{
    NVTX_CALL(core2, NVTX_DOMAIN_REGISTER_A, nvtx_fn_domain_register_a, NULL, domain, text);
}

static inline nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t *text)
{
    NVTX_CALL(core2, NVTX_DOMAIN_REGISTER_W, nvtx_fn_domain_register_w, NULL, domain, text);
}

#endif
