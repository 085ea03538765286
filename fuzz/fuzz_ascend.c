/* fuzz_ascend.c - libFuzzer target: databases of Ascend's profilers; what fuzz_nsys.c asks of any SQLite file */
#include "fuzz_nsys.c"
