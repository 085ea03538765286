/* fields.h - short names for fields, for the tables of kinds.c and other.c */
#ifndef HD_FORMAT_OTF2_READ_FIELDS_H
#define HD_FORMAT_OTF2_READ_FIELDS_H

#include "format/otf2/read/read.h"

/* clang-format off */
#define U(name) {name, FIELD_UINT, 0, NULL}
#define I(name) {name, FIELD_INT, 0, NULL}
#define V(name) {name, FIELD_VALUE, 0, NULL}
#define R(name, kind) {name, FIELD_REF, kind, NULL}
#define E(name, names) {name, FIELD_ENUM, 0, names}
#define ROOT {"root", FIELD_ROOT, 0, NULL}
#define END_FIELD {NULL, FIELD_END, 0, NULL}
/* clang-format on */

#endif
