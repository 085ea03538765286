/* test_demangle_rust.c - names of Rust's v0 mangling */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/demangle/demangle.h"

/* From memory that ends where the name does, so that a sanitizer sees a look behind it. */
static size_t demangle(char *out, size_t room, bool *cut, const char *name, size_t size)
{
    char *exact = malloc(size);
    assert_non_null(exact);
    memcpy(exact, name, size);
    size_t made = hd_demangle(out, room, cut, exact, size);
    free(exact);
    return made;
}

static void assert_name(const char *name, const char *expected)
{
    char text[1024];
    bool cut;
    size_t made = demangle(text, sizeof text - 1, &cut, name, strlen(name));
    text[made] = 0;
    assert_string_equal(text, expected);
    assert_false(cut);
}

static void assert_none(const char *name)
{
    char text[1024];
    bool cut;
    assert_int_equal(demangle(text, sizeof text, &cut, name, strlen(name)), 0);
}

static void test_rust_names__the_examples_of_the_specification_are_read(void **state)
{
    (void)state;
    assert_name("_RNvC6_123foo3bar", "123foo::bar");
    assert_name("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
                "utf8_idents::საჭმელად_გემრიელი_სადილი");
    assert_name("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
    assert_name("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
                "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
    assert_name("_RNvMC0INtC8arrayvec8ArrayVechKj7b_E3new", "<arrayvec::ArrayVec<u8, 123>>::new");
    assert_name("_RNvYpNtC1b1T1f", "<_ as b::T>::f");
    assert_name("_RNSC1a6vtable", "a::{shim:vtable#0}");
}

static void test_rust_names__types_are_spelled_as_in_a_program(void **state)
{
    (void)state;
    assert_name("_RMC1aFG_UKCRL0_hEu", "<for<'a> unsafe extern \"C\" fn(&'a u8)>");
    assert_name("_RMC1aFK8c_unwindPhOiEz", "<extern \"c-unwind\" fn(*const u8, *mut isize) -> !>");
    assert_name("_RMC1aDG0_INtC1b1FTRL1_hQL0_tEEp6OutputbNtC1b1SEL_",
                "<dyn for<'a, 'b> b::F<(&'a u8, &'b mut u16), Output = bool> + b::S>");
    assert_name("_RINvC1a1fReTaESsAhj4_L_E", "a::f::<&str, (i8,), [i16], [u8; 4], '_>");
}

static void test_rust_names__constants_are_literals(void **state)
{
    (void)state;
    assert_name("_RINvC1a1fKhb_Ksn98_Kb0_Kb1_E", "a::f::<11, -152, false, true>");
    assert_name("_RINvC1a1fKc76_Kc22_Kc27_Kca_Kc7f_Kc2202_E", "a::f::<'v', '\"', '\\'', '\\n', '\\u{7f}', '∂'>");
    assert_name("_RINvC1a1fKo0100000000000000000_Kyffffffffffffffff_E",
                "a::f::<0x100000000000000000, 18446744073709551615>");
    assert_name("_RINvC1a1fKRe22c3a95c0a_Ke61_E", "a::f::<\"\\\"é\\\\\\n\", {*\"a\"}>");
    assert_name("_RINvC1a1fKTh1_h2_EKTh1_EKAh1_h2_EKRh5_E", "a::f::<{(1, 2)}, {(1,)}, {[1, 2]}, {&5}>");
    assert_name("_RINvC1a1fKVNtC1b1EUKVNtC1b1ETh1_b1_EKVNtC1b1ES1xh1_1yl2_EE",
                "a::f::<{b::E}, {b::E(1, true)}, {b::E { x: 1, y: 2 }}>");
}

static void test_rust_names__what_compilers_add_is_told_or_left_out(void **state)
{
    (void)state;
    assert_name("_RNvC1a1f.llvm.123456", "a::f");
    assert_name("_RNvC1a1f.cold", "a::f [clone .cold]");
    assert_name("_RNvC1a1fC1b", "a::f");
}

static void test_rust_names__what_makes_no_sense_is_no_name(void **state)
{
    (void)state;
    static const char *const names[] = {"_R",
                                        "_RN",
                                        "_R0NvC1a1f",
                                        "_RNvC1a9f",
                                        "_RNvC1a1fX",
                                        "_RNvC1a99999999999999999999999999f",
                                        "_RNvB_1f",
                                        "_RNvB9_1f",
                                        "_RNvCszzzzzzzzzzzzzzzzzzzz_1a1f",
                                        "_RMC1aFGzzzzzzzz_Eu",
                                        "_RINvC1a1fL0_E",
                                        "_RINvC1a1fKh1E",
                                        "_RINvC1a1fKb2_E",
                                        "_RINvC1a1fKc110000_E",
                                        "_RINvC1a1fKRe616_E",
                                        "_RINvC1a1fKRe6g_E",
                                        "_RINvC1a1fKRe6A_E",
                                        "_RINvC1a1fKRe80_E",
                                        "_RINvC1a1fKRe61c3_E",
                                        "_RINvC1a1fKReeda080_E",
                                        "_RINvC1a1fh",
                                        "_RNvC1a1f\xc3\xa9",
                                        "_RMC1ag"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_none(names[i]);
}

static void test_rust_names__punycode_is_read_or_stays(void **state)
{
    (void)state;
    assert_name("_RNvNtC1au9bcher_kva1f", "a::bücher::f");
    assert_name("_RNvNtC1au4zzz91f", "a::punycode{zzz9}::f");
    assert_name("_RNvNtC1au3a_Z1f", "a::punycode{a_Z}::f");
}

/* Every beginning of a name, and every byte of it changed, is read within its bounds. */
static void test_rust_names__any_part_of_a_name_is_safe(void **state)
{
    (void)state;
    static const char name[] =
        "_RINvXs5_C1aDG0_INtC1b1FTRL1_hQL0_tEEp6OutputbNtC1b1SEL_NtB5_1TKRe22c3a95c0a_Ksn98_Kb1_Kc2202_Kh7_u3bcaE";
    char text[256], changed[sizeof name];
    bool cut;
    for (size_t size = 2; size < sizeof name; size++) demangle(text, sizeof text, &cut, name, size);
    for (size_t at = 2; at < sizeof name - 1; at++) {
        for (int c = 1; c < 256; c++) {
            memcpy(changed, name, sizeof name);
            changed[at] = (char)c;
            demangle(text, sizeof text, &cut, changed, sizeof name - 1);
        }
    }
}

static void test_rust_names__time_and_text_are_bounded(void **state)
{
    (void)state;
    char text[64], name[4096] = "_RMC1a";
    bool cut;
    size_t size = strlen(name);
    memset(name + size, 'P', 3000); /* pointers to pointers */
    name[size + 3000] = 'h';
    assert_int_equal(demangle(text, sizeof text, &cut, name, size + 3001), 0);
    /* Pairs of what stood before, and so on: 2^60 bytes if all of it were written. */
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    memcpy(name, "_RINvC1a1fThhE", size = 14);
    size_t before = 8; /* of "Thh", behind "_R" */
    for (int i = 0; i < 60; i++) {
        char back[4] = "_";
        if (before > 62) {
            back[0] = digits[(before - 1) / 62];
            back[1] = digits[(before - 1) % 62];
            back[2] = '_';
        } else {
            back[0] = digits[before - 1];
            back[1] = '_';
        }
        before = size - 2;
        size += (size_t)sprintf(name + size, "TB%sB%sE", back, back);
    }
    name[size++] = 'E';
    assert_int_equal(demangle(text, sizeof text, &cut, name, size), 0);
}

static void test_rust_names__a_text_without_room_is_cut(void **state)
{
    (void)state;
    char text[8];
    bool cut;
    const char *name = "_RNvC6_123foo3bar";
    assert_int_equal(demangle(text, sizeof text, &cut, name, strlen(name)), sizeof text);
    assert_true(cut);
    assert_memory_equal(text, "123foo::", sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rust_names__the_examples_of_the_specification_are_read),
        cmocka_unit_test(test_rust_names__types_are_spelled_as_in_a_program),
        cmocka_unit_test(test_rust_names__constants_are_literals),
        cmocka_unit_test(test_rust_names__what_compilers_add_is_told_or_left_out),
        cmocka_unit_test(test_rust_names__what_makes_no_sense_is_no_name),
        cmocka_unit_test(test_rust_names__punycode_is_read_or_stays),
        cmocka_unit_test(test_rust_names__any_part_of_a_name_is_safe),
        cmocka_unit_test(test_rust_names__time_and_text_are_bounded),
        cmocka_unit_test(test_rust_names__a_text_without_room_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
