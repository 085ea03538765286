/* version.c - the release of this library */
#include "heddle/version.h"

const char *hd_version(void)
{
    return HD_VERSION;
}
