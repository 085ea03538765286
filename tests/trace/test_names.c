/* test_names.c - src/trace/names/names.c and src/base/demangle*.c: demangled and short names */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "growth.h"
#include "heddle/names.h"
#include "patience.h"

typedef size_t (*name_function)(char out[HD_NAME_BYTES], hd_string name);

static void expect(name_function function, const char *name, const char *wanted)
{
    char out[HD_NAME_BYTES + 1];
    size_t size = function(out, (hd_string){name, strlen(name)});
    assert_true(size <= HD_NAME_BYTES);
    out[size] = '\0';
    if (strcmp(out, wanted) != 0) fail_msg("%s\n  is     %s\n  wanted %s", name, out, wanted);
}

typedef struct name_case {
    const char *name, *wanted;
} name_case;

static void expect_all(name_function function, const name_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) expect(function, cases[i].name, cases[i].wanted);
}
#define EXPECT_ALL(function, cases) expect_all(function, cases, sizeof(cases) / sizeof *(cases))

/* ---- demangled ---- */

static void test_demangle__functions_and_templates(void **state)
{
    static const name_case cases[] = {
        {"_Z1fv", "f()"},
        {"_ZN2at6native3addIfEEvPT_", "void at::native::add<float>(float*)"},
        {"_Z11DaxpyKernelidPdS_", "DaxpyKernel(int, double, double*, double*)"},
        {"_ZNK1A1fEPKcRKi", "A::f(char const*, int const&) const"},
        {"_ZN1AC2ERKS_", "A::A(A const&)"},
        {"_ZN3foo3barIN1A1BIiEEEEvv", "void foo::bar<A::B<int> >()"},
        {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)"},
        {"_ZNSsC1EPKcRKSaIcE",
         "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(char const*, "
         "std::allocator<char> const&)"},
        {"_ZlsRSoRK1A", "operator<<(std::ostream&, A const&)"},
        {"_ZlsIiERSoS0_T_", "std::ostream& operator<< <int>(std::ostream&, int)"},
        {"_ZN1AcvbEv", "A::operator bool()"},
        {"_Z1fILi4ELb1ELm7ELin3EEvv", "void f<4, true, 7ul, -3>()"},
        {"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"},
        {"_ZTV1A", "vtable for A"},
        {"_ZTC1A16_So", "construction vtable for std::ostream-in-A"},
    };
    (void)state;
    EXPECT_ALL(hd_name_demangle, cases);
}

static void test_demangle__declarators_and_packs(void **state)
{
    static const name_case cases[] = {
        {"_Z1fPFviE", "f(void (*)(int))"},
        {"_Z1fRA5_i", "f(int (&) [5])"},
        {"_Z1fPA2_A3_i", "f(int (*) [2][3])"},
        {"_Z1fM1AFviE", "f(void (A::*)(int))"},
        {"_Z1fSt8functionIFviEE", "f(std::function<void (int)>)"},
        {"_Z1fIiEPFvT_ES0_", "void (*f<int>(int))(int)"},
        {"_Z1fIJidPcEEvDpT_", "void f<int, double, char*>(int, double, char*)"},
        {"_Z1fIJidEEvDpRKT_St5tupleIJDpS2_EE",
         "void f<int, double>(int const&, double const&, std::tuple<int const&, double const&>)"},
        {"_Z1fIJEEvDpT_", "void f<>()"},
        {"_Z1fIRiEvOT_", "void f<int&>(int&)"},
        {"_ZZ1fiENKUlfE_clEf", "f(int)::{lambda(float)#1}::operator()(float) const"},
        {"_ZZN1A1fEvE1x", "A::f()::x"},
        {"_Z1fIiEDTplfp_Li1EET_", "decltype ({parm#1}+(1)) f<int>(int)"},
        {"_Z1fIXadL_ZN1A1gEvEEEvv", "void f<&A::g>()"},
        {"_Z1fv.isra.0.cold", "f() [clone .isra.0] [clone .cold]"},
        {"_Z3fooILi1EEvPfS0_.kd", "void foo<1>(float*, float*) [clone .kd]"},
    };
    (void)state;
    EXPECT_ALL(hd_name_demangle, cases);
}

/* A lambda among the arguments has a function with arguments of its own: an S_ of that is another T_ behind it. */
static void test_demangle__substitutions_take_the_arguments_of_where_they_stand(void **state)
{
    static const name_case cases[] = {
        {"_ZN2at3kerILi4EZNS_4implIffEEvRNS_4BaseET0_EUlfE_St5arrayIPcLm2EEEEviS4_T1_",
         "void at::ker<4, at::impl<float, float>(at::Base&, float)::{lambda(float)#1}, std::array<char*, 2ul> >(int, "
         "at::impl<float, float>(at::Base&, float)::{lambda(float)#1}, std::array<char*, 2ul>)"},
        {"_ZN2at3kerILi4EZNS_4implIffEEvRNS_4BaseERKT0_EUlfE_St5arrayIPcLm2EEEEviS6_T1_",
         "void at::ker<4, at::impl<float, float>(at::Base&, float const&)::{lambda(float)#1}, std::array<char*, 2ul> "
         ">(int, at::impl<float, float>(at::Base&, float const&)::{lambda(float)#1} const&, std::array<char*, 2ul>)"},
        {"_ZN2at3kerILi4EZNS_4implIffEEvRNS_4BaseEOT0_EUlfE_St5arrayIPcLm2EEEEviPFvS5_ES4_T1_",
         "void at::ker<4, at::impl<float, float>(at::Base&, float&&)::{lambda(float)#1}, std::array<char*, 2ul> >(int, "
         "void (*)(float&&), at::impl<float, float>(at::Base&, float&&)::{lambda(float)#1}, std::array<char*, 2ul>)"},
        {"_ZN2at3kerILi4EZNS_4implIffEEvRNS_4BaseENT0_1xEEUlfE_St5arrayIPcLm2EEEEviS6_NS6_1zET1_",
         "void at::ker<4, at::impl<float, float>(at::Base&, float::x)::{lambda(float)#1}, std::array<char*, 2ul> "
         ">(int, at::impl<float, float>(at::Base&, float::x)::{lambda(float)#1}, at::impl<float, float>(at::Base&, "
         "float::x)::{lambda(float)#1}::z, std::array<char*, 2ul>)"},
    };
    (void)state;
    EXPECT_ALL(hd_name_demangle, cases);
}

static void test_demangle__what_is_no_mangled_name_stays(void **state)
{
    static const char *const names[] = {
        "",      "_",     "_Z",     "_Zx",    "main",        "aten::add",        "_Z1",   "_Z9f",
        "_Z1fE", "_ZN1A", "_Z1fS_", "_Z1fT_", "_Z1fIiEvT0_", "cudaLaunchKernel", "_Z1fv?"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect(hd_name_demangle, names[i], names[i]);
}

/* A<A<…>, A<…> >: each level doubles the text. */
static void test_demangle__names_that_explode_cost_nothing(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[4096] = "_Z1f1AIiiE", level[32], out[HD_NAME_BYTES];
    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(level, sizeof level, "S_IS%c_S%c_E", digits[i], digits[i]);
        strcat(name, level);
    }
    alarm((unsigned)hd_test_patience(300)); /* 2^30 pieces take for ever */
    size_t size = hd_name_demangle(out, (hd_string){name, strlen(name)});
    alarm(0);
    assert_int_equal(size, strlen(name)); /* beyond all bounds: it stays */
    name[10 + 9 * 10] = '\0';             /* nine levels can be shown in part */
    size = hd_name_demangle(out, (hd_string){name, strlen(name)});
    assert_int_equal(size, HD_NAME_BYTES);
    assert_memory_equal(out, "f(A<int, int>, A<A<int, int>, A<int, int> >", 42);
    assert_memory_equal(out + size - 3, "\xe2\x80\xa6", 3);
}

/* A name of at most `capacity` bytes, of the same again and again. */
static double demangle_repeated(void *context, size_t capacity)
{
    const char *repeated = context;
    char *name = malloc(capacity + 32), out[HD_NAME_BYTES];
    assert_non_null(name);
    size_t size = (size_t)snprintf(name, capacity, "_Z1fIJiiiiiiiiEEv"), step = strlen(repeated);
    for (; size + step < capacity; size += step) memcpy(name + size, repeated, step);
    double start = hd_test_cpu_seconds();
    assert_true(hd_name_demangle(out, (hd_string){name, size}) <= HD_NAME_BYTES);
    assert_true(hd_name_short(out, (hd_string){name, size}) <= HD_NAME_BYTES);
    double seconds = hd_test_cpu_seconds() - start;
    free(name);
    return seconds;
}

static void test_demangle__deep_and_long_names_are_bounded(void **state)
{
    static char *const repeated[] = {"P", "1AI", "Fi", "DpPT_", "N1A", "DTcl", "M", "Z1f", "IJ", "K", "Dp", "UlT_"};
    (void)state;
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
        hd_test_assert_linear(repeated[i], demangle_repeated, repeated[i], 7500);
}

static void test_demangle__each_cut_of_a_name_is_safe(void **state)
{
    const char *name =
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIter"
        "atorBaseEENKUlvE_clEvENKUlvE5_clEvEUlfE_NS_6detail5ArrayIPcLi2EEEEEviT0_T1_";
    char out[HD_NAME_BYTES];
    (void)state;
    for (size_t size = 0; size <= strlen(name); size++) {
        char *copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, name, size);
        assert_true(hd_name_demangle(out, (hd_string){copy, size}) <= HD_NAME_BYTES);
        assert_true(hd_name_short(out, (hd_string){copy, size}) <= HD_NAME_BYTES);
        assert_true(hd_name_label(out, (hd_string){copy, size}) <= HD_NAME_BYTES);
        free(copy);
    }
    expect(hd_name_demangle, name,
           "void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda(at::"
           "TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::"
           "{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::direct_copy_kernel_cuda(at::"
           "TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::"
           "{lambda(float)#1}, at::detail::Array<char*, 2>)");
}

/* ---- short ---- */

static void test_short__return_types_arguments_and_parameters_go(void **state)
{
    static const name_case cases[] = {
        {"_ZN2at6native3addIfEEvPT_", "at::native::add"},
        {"void at::native::add<float>(float*)", "at::native::add"},
        {"f()", "f"},
        {"A::f(char const*) const", "A::f"},
        {"A::f() &&", "A::f"},
        {"unsigned long long const* const& ns::f<int>(int)", "ns::f"},
        {"std::vector<std::vector<int>, std::allocator<int> > ns::g(int)", "ns::g"},
        {"std::enable_if<((4)>(3)), int>::type ns::h<4>(int)", "ns::h"},
        {"std::enable_if<(sizeof (int))<(8), int>::type ns::h<4>(int)", "ns::h"},
        {"decltype ({parm#1}+(1)) f<int>(int)", "f"},
        {"void (*f<int>(int))(char)", "f"},
        {"void foo<&(bar(int))>(int (&) [5], void (*)(int), int A::*)", "foo"},
        {"f() [clone .isra.0]", "f"},
        {"void f<int>(int) [clone .kd]", "f"},
        {"std::vector<int, std::allocator<int> >::~vector()", "std::vector::~vector"},
        {"foo[abi:cxx11](int)", "foo"},
        {"void ::kernel<int>(int *)", "kernel"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
        {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_tn_align4>(cutlass_80_tensorop_s1688gemm_128x"
         "128_16x4_tn_align4::Params)",
         "cutlass::Kernel"},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, false>(float*, float const*, "
         "int, int, int, bool const*, int, bool)",
         "softmax_warp_forward"},
        {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
         "namespace)::OpaqueType<4u>, "
         "unsigned int, 2, 64, 64>(int)",
         "at::native::CatArrayBatchedCopy"},
    };
    (void)state;
    EXPECT_ALL(hd_name_short, cases);
}

static void test_short__operators_and_lambdas_stay(void **state)
{
    static const name_case cases[] = {
        {"std::ostream& operator<< <int>(std::ostream&, int)", "operator<<"},
        {"bool A<int>::operator<(A<int> const&) const", "A::operator<"},
        {"A<int>::operator->() const", "A::operator->"},
        {"A::operator()(int) const", "A::operator()"},
        {"A::operator bool() const", "A::operator bool"},
        {"A::operator std::vector<int>*()", "A::operator std::vector*"},
        {"operator new[](unsigned long)", "operator new[]"},
        {"f(int)::{lambda(float)#1}::operator()(float) const", "f::{lambda#1}::operator()"},
        {"f(int)::'lambda0'(float)::operator()(float) const", "f::{lambda#2}::operator()"},
        {"f(int)::[lambda(float) (instance 3)]::operator ()(float) const", "f::{lambda#3}::operator()"},
        {"f()::{unnamed type#1}::g()", "f::{unnamed type#1}::g"},
        {"operatorname(int)", "operatorname"},
        {"void foo<&A::operator<, &A::operator->, &A::operator> >(int)", "foo"},
    };
    (void)state;
    EXPECT_ALL(hd_name_short, cases);
}

static void test_short__anonymous_namespaces_go_in_all_spellings(void **state)
{
    static const name_case cases[] = {
        {"(anonymous namespace)::f(int)", "f"},
        {"a::{anonymous}::f(int)", "a::f"},
        {"a::<unnamed>::f(int)", "a::f"},
        {"`anonymous namespace'::f(int)", "f"},
        {"void a::`anonymous-namespace'::f<int>(int)", "a::f"},
    };
    (void)state;
    EXPECT_ALL(hd_name_short, cases);
}

static void test_short__other_names_stay(void **state)
{
    static const char *const names[] = {
        "",
        "ampere_sgemm_128x64_tn",
        "Memcpy HtoD (Pageable -> Device)",
        "Memset (Device)",
        "triton_poi_fused_add_0",
        "aten::add",
        "aten::add.out",
        "<built-in method foo of type>",
        "<module>",
        "torch/nn/modules/module.py(1501): _call_impl",
        "nn.Module: Linear_0",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "ProfilerStep#12",
        "Iteration 5",
        "PyTorch Profiler (0)",
        "step(3)",
        "forward(batch=2)",
        "## Call CompiledFxGraph f3k ##",
        "vtable for A",
        "void f<int(int)",
        "void f>(int)",
        "f(int",
        "f)int(",
        "Kernel: f(int)",
        "[GPU_Kernel]f",
        "[unknown]",
        "a b c",
        "::",
        "()",
        "operator",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect(hd_name_short, names[i], names[i]);
}

static void test_label__distinguishes_instances_of_a_template(void **state)
{
    static const name_case cases[] = {
        {"void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<c10::BFloat16>, std::array<char*, "
         "1ul> >(int, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul>)",
         "at::native::vectorized_elementwise_kernel<FillFunctor, BFloat16>"},
        {"void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, float, float, "
         "at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)2>>(int, T2, T3)",
         "at::native::vectorized_elementwise_kernel<AUnaryFunctor, float, MulFunctor>"},
        {"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::(anonymous "
         "namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() "
         "const::{lambda()#1}> >(int)",
         "at::native::elementwise_kernel<gpu_kernel_impl_nocast, masked_fill_kernel>"},
        {"void gemm::sgemm<128, 64>(float const*, float*)", "gemm::sgemm"},
        {"void Outer<int>::run<Op>(int)", "Outer::run<Op>"},
        {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"},
        {"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"},
    };
    (void)state;
    EXPECT_ALL(hd_name_label, cases);
}

static void test_short__functions_that_jax_compiled_keep_their_names(void **state)
{
    static const char *const names[] = {"jit(f)", "jit(_psum)", "PjitFunction(convert_element_type)", "jit(<lambda>)"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect(hd_name_short, names[i], names[i]);
        expect(hd_name_label, names[i], names[i]);
    }
    expect(hd_name_short, "jit(float*)", "jit");
}

static void test_short__a_name_that_was_cut_is_shortened(void **state)
{
    (void)state;
    expect(hd_name_short, "void ns::f<A<int, B<\xe2\x80\xa6", "ns::f");
    expect(hd_name_short, "void ns::f<int>(A<\xe2\x80\xa6", "ns::f");
    expect(hd_name_short, "void ns::fo\xe2\x80\xa6", "ns::fo");
}

static void test_short__a_short_name_is_its_own(void **state)
{
    static const char *const names[] = {"at::native::add",  "f::{lambda#1}::operator()", "operator<<",     "A::~A",
                                        "A::operator bool", "std::vector::push_back",    "cutlass::Kernel"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect(hd_name_short, names[i], names[i]);
}

static void test_short__what_is_longer_than_the_room_ends_with_an_ellipsis(void **state)
{
    char *name = malloc(3 * HD_NAME_BYTES), out[HD_NAME_BYTES];
    (void)state;
    assert_non_null(name);
    memset(name, 'a', 3 * HD_NAME_BYTES);
    assert_int_equal(hd_name_short(out, (hd_string){name, 3 * HD_NAME_BYTES}), HD_NAME_BYTES);
    assert_memory_equal(out + HD_NAME_BYTES - 4, "a\xe2\x80\xa6", 4);
    for (size_t i = 0; i + 1 < 3 * HD_NAME_BYTES; i += 2) memcpy(name + i, "\xc3\xa9", 2);
    size_t size = hd_name_demangle(out, (hd_string){name, 3 * HD_NAME_BYTES});
    assert_true(size < HD_NAME_BYTES); /* between two letters */
    assert_memory_equal(out + size - 5, "\xc3\xa9\xe2\x80\xa6", 5);
    memset(name, '<', 3 * HD_NAME_BYTES); /* too deep */
    name[0] = 'f';
    assert_int_equal(hd_name_short(out, (hd_string){name, 3 * HD_NAME_BYTES}), HD_NAME_BYTES);
    free(name);
}

static void test_plain__what_injections_put_around_names_goes(void **state)
{
    static const char *const pairs[][2] = {
        {"Kernel: _Z1kv", "_Z1kv"},
        {"MemCopy: HtoD", "HtoD"},
        {"Runtime: cudaLaunchKernel_v7000", "cudaLaunchKernel"},
        {"Driver: cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2"}, /* a part of the call's name */
        {"Kernel: f_v7000", "f_v7000"},
        {"Kernel: ", "Kernel: "},
        {"cudaLaunchKernel_v7000", "cudaLaunchKernel_v7000"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        hd_string plain = hd_name_plain((hd_string){pairs[i][0], strlen(pairs[i][0])});
        assert_int_equal(plain.size, strlen(pairs[i][1]));
        assert_memory_equal(plain.data, pairs[i][1], plain.size);
    }
    assert_int_equal(hd_name_without_version((hd_string){"_v7000", 6}).size, 6); /* nothing would be left */
    assert_int_equal(hd_name_without_version((hd_string){"f_v10000", 8}).size, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demangle__functions_and_templates),
        cmocka_unit_test(test_demangle__declarators_and_packs),
        cmocka_unit_test(test_demangle__substitutions_take_the_arguments_of_where_they_stand),
        cmocka_unit_test(test_demangle__what_is_no_mangled_name_stays),
        cmocka_unit_test(test_demangle__names_that_explode_cost_nothing),
        cmocka_unit_test(test_demangle__deep_and_long_names_are_bounded),
        cmocka_unit_test(test_demangle__each_cut_of_a_name_is_safe),
        cmocka_unit_test(test_short__return_types_arguments_and_parameters_go),
        cmocka_unit_test(test_short__operators_and_lambdas_stay),
        cmocka_unit_test(test_short__anonymous_namespaces_go_in_all_spellings),
        cmocka_unit_test(test_short__other_names_stay),
        cmocka_unit_test(test_label__distinguishes_instances_of_a_template),
        cmocka_unit_test(test_short__functions_that_jax_compiled_keep_their_names),
        cmocka_unit_test(test_short__a_name_that_was_cut_is_shortened),
        cmocka_unit_test(test_short__a_short_name_is_its_own),
        cmocka_unit_test(test_short__what_is_longer_than_the_room_ends_with_an_ellipsis),
        cmocka_unit_test(test_plain__what_injections_put_around_names_goes),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
