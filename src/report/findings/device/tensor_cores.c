/* tensor_cores.c - matrix products and convolutions of 32-bit floats that do not run on Tensor Cores */
#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"
#include "report/gpus.h"
#include "report/properties.h"

/* By the names of cuBLAS, cuDNN and CUTLASS: kernels for FFMA, and none of the words of those for MMA. */
static bool is_name(hd_string name)
{
    static const char *const simt[] = {
        "sgemm", "_simt_", "scudnn", "dgrad_engine<float", "wgrad_alg0_engine<float", "implicit_convolve_sgemm"};
    static const char *const mma[] = {"tensorop", "tf32", "s1688", "s16816", "884",    "1688",
                                      "16816",    "hmma", "xmma",  "wgmma",  "tcgen05"};
    bool is_winograd = hd_string_holds(name, "winograd_nonfused") && hd_string_holds(name, "<float");
    return (is_winograd || FINDINGS_HAS(name, simt)) && !FINDINGS_HAS(name, mma);
}

typedef struct model {
    const hd_gpus *gpus;
    double ratio; /* of the peaks with and without; 0: not known */
    bool has_none;
} model;

static void add_gpu(model *m, const report_gpu *gpu)
{
    if (!gpu || gpu->peaks[REPORT_FP32] <= 0) return;
    double other = gpu->peaks[REPORT_TF32] > 0 ? gpu->peaks[REPORT_TF32] : gpu->peaks[REPORT_FP16];
    if (other / gpu->peaks[REPORT_FP32] > m->ratio) m->ratio = other / gpu->peaks[REPORT_FP32];
}

static bool add_model(void *user, report_properties *properties)
{
    model *m = user;
    if (properties->major != HD_NO_NUMBER && properties->major < 7) m->has_none = true;
    if (properties->name) add_gpu(m, report_gpu_find(m->gpus, (hd_string){properties->name, strlen(properties->name)}));
    return true;
}

/* As given, else as the trace says. */
static hd_status find_model(model *m, const findings *f, hd_error *err)
{
    hd_gpus *own = NULL;
    const report_gpu *given = NULL;
    m->gpus = f->input->gpus;
    if (!m->gpus) HD_TRY(hd_gpus_new(&own, err));
    if (own) m->gpus = own;
    hd_status status = f->model ? report_gpu_named(&given, m->gpus, f->model, err)
                       : report_properties_read(f->scope.trace, add_model, m) ? HD_OK
                                                                              : HD_NOMEM(err);
    add_gpu(m, given);
    hd_gpus_free(own);
    return status;
}

static bool is_kernel(const findings *f, uint32_t node)
{
    const gpu_work *work = findings_work(f, node);
    return work && work->role == HD_ROLE_KERNEL;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    model m = {0};
    finding *of;
    HD_TRY(find_model(&m, f, err));
    if (m.has_none) return HD_OK;
    HD_TRY(findings_gather_named(&of, f, rule, is_kernel, is_name, err));
    if (!of) return HD_OK;
    char name[72], amount[96], how[80] = "";
    if (m.ratio > 1) findings_scale(f, 1 - 1 / m.ratio);
    if (m.ratio > 1) snprintf(how, sizeof how, ", whose peak is %.1f times as high", m.ratio);
    snprintf(of->text, sizeof of->text,
             "Matrix products of 32-bit floats take %s and do not use Tensor Cores%s: %s, %llu kernel%s.",
             findings_amount(amount, of), how, findings_longest(name, f, of), (unsigned long long)of->events,
             FINDINGS_S(of->events));
    if (m.ratio <= 1) of->trust_reason = "the trace does not name a GPU with known peaks: this is all of their time";
    return HD_OK;
}

const finding_rule finding_tensor_cores = {
    .about.code = "no-tensor-cores",
    .about.severity = "warning",
    .about.meaning = "matrix products or convolutions of 32-bit floats without Tensor Cores",
    .about.advice = "torch.autocast('cuda', dtype=torch.bfloat16) (float16 on V100 and T4), or "
                    "torch.set_float32_matmul_precision('high') and "
                    "torch.backends.cudnn.allow_tf32 = True for TF32.",
    .plain_advice = "cublasSetMathMode(CUBLAS_TF32_TENSOR_OP_MATH) or NVIDIA_TF32_OVERRIDE=1 for TF32, 16-bit inputs "
                    "with 32-bit sums (cublasGemmEx), in JAX jax_default_matmul_precision.",
    .find = find,
};
