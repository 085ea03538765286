#include "replay/hardware/cuda.h"

#include <dlfcn.h>

#include "base/error.h"

/* PTX, which the driver compiles. The GPU's clock counts ns, in steps of up to a microsecond. A held kernel begins
 * `later` after the start of another, which it reads from that one's stamp; it waits no longer than that in total. */
static const char spin_ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry heddle_spin(.param .u64 stamps, .param .u64 ns, .param .u64 behind, .param .u64 later)\n"
    "{\n"
    "  .reg .pred %yes; .reg .b64 %at, %for, %behind, %later, %start, %now, %spent;\n"
    "  mov.u64 %start, %globaltimer;\n"
    "  mov.u64 %now, %start;\n"
    "  ld.param.u64 %at, [stamps];\n"
    "  ld.param.u64 %for, [ns];\n"
    "  ld.param.u64 %behind, [behind];\n"
    "  ld.param.u64 %later, [later];\n"
    "  cvta.to.global.u64 %at, %at;\n"
    "  setp.eq.u64 %yes, %behind, 0;\n"
    "  @%yes bra begin;\n"
    "  cvta.to.global.u64 %behind, %behind;\n"
    "held:\n"
    "  mov.u64 %now, %globaltimer;\n"
    "  sub.u64 %spent, %now, %start;\n"
    "  setp.ge.u64 %yes, %spent, %later;\n"
    "  @%yes bra begin;\n"
    "  ld.volatile.global.u64 %spent, [%behind];\n"
    "  setp.eq.u64 %yes, %spent, 0;\n"
    "  @%yes bra held;\n"
    "  sub.u64 %spent, %now, %spent;\n"
    "  setp.lt.s64 %yes, %spent, %later;\n"
    "  @%yes bra held;\n"
    "begin:\n"
    "  mov.u64 %start, %now;\n"
    "  st.volatile.global.u64 [%at], %start;\n"
    "again:\n"
    "  mov.u64 %now, %globaltimer;\n"
    "  sub.u64 %spent, %now, %start;\n"
    "  setp.lt.u64 %yes, %spent, %for;\n"
    "  @%yes bra again;\n"
    "  st.global.u64 [%at+8], %now;\n"
    "  ret;\n"
    "}\n";

hd_status cuda_failed(const char *what, int result, hd_error *err)
{
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "%s: CUDA error %d", what, result);
}

hd_status cuda_open(cuda_api *out, hd_error *err)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    cuda_handle module;
    int result;
    *out = (cuda_api){0};
    if (!library)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "no NVIDIA driver to run on: %s; heddle devices lists what this machine has", dlerror());
#define FIND(member, symbol, arguments)                                                                                \
    *(void **)&out->member = dlsym(library, symbol);                                                                   \
    if (!out->member) return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "libcuda has no %s", symbol);
    CUDA_FUNCTIONS(FIND)
#undef FIND
    if ((result = out->init(0)) != 0) return cuda_failed("cuInit", result, err);
    if ((result = out->context_retain(&out->context, 0)) != 0) return cuda_failed("the context of a GPU", result, err);
    if ((result = out->context_set(out->context)) != 0) return cuda_failed("cuCtxSetCurrent", result, err);
    if ((result = out->module_load(&module, spin_ptx)) != 0) return cuda_failed("compiling the kernel", result, err);
    result = out->module_function(&out->spin, module, "heddle_spin");
    return result ? cuda_failed("cuModuleGetFunction", result, err) : HD_OK;
}
