/* fuzz_rpd.c - libFuzzer target: rocmProfileData; what fuzz_nsys.c asks of any SQLite file */
#include "fuzz_nsys.c"
