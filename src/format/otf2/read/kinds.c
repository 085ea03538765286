/* kinds.c - tables: the fields of every definition, the names of OTF2's enumerations */
#include "format/otf2/read/fields.h"

_Static_assert(LINT_UNDEFINED_LAST - LINT_UNDEFINED + 1 == DEF_REFERRED, "one code for every kind with ids");
_Static_assert(OTF2_TYPE_LOCATION_GROUP - OTF2_TYPE_STRING == DEF_LOCATION_GROUP, "kinds follow OTF2_Type");

static const char *const location_types[] = {"UNKNOWN", "CPU_THREAD", "ACCELERATOR_STREAM", "METRIC", NULL};
static const char *const group_types[] = {"UNKNOWN", "PROCESS", "ACCELERATOR", NULL};
static const char *const member_types[] = {"UNKNOWN",        "LOCATIONS",  "REGIONS",   "METRIC",
                                           "COMM_LOCATIONS", "COMM_GROUP", "COMM_SELF", NULL};
static const char *const base_names[] = {"BINARY", "DECIMAL", NULL};
static const char *const occurrence_names[] = {"SYNCHRONOUS_STRICT", "SYNCHRONOUS", "ASYNCHRONOUS", NULL};
static const char *const metric_types[] = {"OTHER", "PAPI", "RUSAGE", "USER", NULL};
/* value property in the low four bits, timing above them */
static const char *const metric_modes[] = {[0x00] = "ACCUMULATED_START",
                                           [0x10] = "ACCUMULATED_POINT",
                                           [0x20] = "ACCUMULATED_LAST",
                                           [0x30] = "ACCUMULATED_NEXT",
                                           [0x11] = "ABSOLUTE_POINT",
                                           [0x21] = "ABSOLUTE_LAST",
                                           [0x31] = "ABSOLUTE_NEXT",
                                           [0x12] = "RELATIVE_POINT",
                                           [0x22] = "RELATIVE_LAST",
                                           [0x32] = "RELATIVE_NEXT",
                                           [0x33] = NULL};
static const char *const scope_names[] = {"LOCATION", "LOCATION_GROUP", "SYSTEM_TREE_NODE", "GROUP", NULL};
static const char *const recorder_kinds[] = {"UNKNOWN", "ABSTRACT", "CPU", "GPU", NULL};
static const char *const parameter_types[] = {"STRING", "INT64", "UINT64", NULL};
static const char *const periodicities[] = {"FALSE", "TRUE", NULL};
static const char *const generator_modes[] = {"TIME", "COUNT", NULL};
static const char *const io_classes[] = {"SERIAL", "PARALLEL", NULL};
static const char *const domain_names[] = {
    "MACHINE", "SHARED_MEMORY", "NUMA", "SOCKET", "CACHE", "CORE", "PU", "ACCELERATOR_DEVICE", "NETWORKING_DEVICE",
    NULL};
static const char *const class_names[] = {"PROCESS", "THREAD_FORK_JOIN", "THREAD_CREATE_WAIT", "ACCELERATOR", NULL};
static const char *const paradigm_properties[] = {"COMM_NAME_TEMPLATE", "RMA_WIN_NAME_TEMPLATE", "RMA_ONLY", NULL};
static const char *const type_names[] = {"NONE",
                                         "UINT8",
                                         "UINT16",
                                         "UINT32",
                                         "UINT64",
                                         "INT8",
                                         "INT16",
                                         "INT32",
                                         "INT64",
                                         "FLOAT",
                                         "DOUBLE",
                                         "STRING",
                                         "ATTRIBUTE",
                                         "LOCATION",
                                         "REGION",
                                         "GROUP",
                                         "METRIC",
                                         "COMM",
                                         "PARAMETER",
                                         "RMA_WIN",
                                         "SOURCE_CODE_LOCATION",
                                         "CALLING_CONTEXT",
                                         "INTERRUPT_GENERATOR",
                                         "IO_FILE",
                                         "IO_HANDLE",
                                         "LOCATION_GROUP",
                                         NULL};

static const char *const role_names[] = {"UNKNOWN",
                                         "FUNCTION",
                                         "WRAPPER",
                                         "LOOP",
                                         "CODE",
                                         "PARALLEL",
                                         "SECTIONS",
                                         "SECTION",
                                         "WORKSHARE",
                                         "SINGLE",
                                         "SINGLE_SBLOCK",
                                         "MASTER",
                                         "CRITICAL",
                                         "CRITICAL_SBLOCK",
                                         "ATOMIC",
                                         "BARRIER",
                                         "IMPLICIT_BARRIER",
                                         "FLUSH",
                                         "ORDERED",
                                         "ORDERED_SBLOCK",
                                         "TASK",
                                         "TASK_CREATE",
                                         "TASK_WAIT",
                                         "COLL_ONE2ALL",
                                         "COLL_ALL2ONE",
                                         "COLL_ALL2ALL",
                                         "COLL_OTHER",
                                         "FILE_IO",
                                         "POINT2POINT",
                                         "RMA",
                                         "DATA_TRANSFER",
                                         "ARTIFICIAL",
                                         "THREAD_CREATE",
                                         "THREAD_WAIT",
                                         "TASK_UNTIED",
                                         "ALLOCATE",
                                         "DEALLOCATE",
                                         "REALLOCATE",
                                         "FILE_IO_METADATA",
                                         NULL};
const char *const paradigm_names[] = {
    "UNKNOWN",   "USER",     "COMPILER",  "OpenMP",    "MPI",     "CUDA",   "MEASUREMENT_SYSTEM",
    "PTHREAD",   "HMPP",     "OmpSs",     "HARDWARE",  "GASPI",   "UPC",    "SHMEM",
    "WINTHREAD", "QTTHREAD", "ACETHREAD", "TBBTHREAD", "OpenACC", "OpenCL", "MTAPI",
    "SAMPLING",  "NONE",     "HIP",       "KOKKOS",    NULL};
const char *const collective_names[] = {"BARRIER",
                                        "BCAST",
                                        "GATHER",
                                        "GATHERV",
                                        "SCATTER",
                                        "SCATTERV",
                                        "ALLGATHER",
                                        "ALLGATHERV",
                                        "ALLTOALL",
                                        "ALLTOALLV",
                                        "ALLTOALLW",
                                        "ALLREDUCE",
                                        "REDUCE",
                                        "REDUCE_SCATTER",
                                        "SCAN",
                                        "EXSCAN",
                                        "REDUCE_SCATTER_BLOCK",
                                        "CREATE_HANDLE",
                                        "DESTROY_HANDLE",
                                        "ALLOCATE",
                                        "DEALLOCATE",
                                        "CREATE_HANDLE_AND_ALLOCATE",
                                        "DESTROY_HANDLE_AND_DEALLOCATE",
                                        NULL};
const char *const lock_names[] = {"EXCLUSIVE", "SHARED", NULL};
const char *const sync_names[] = {"MEMORY", "NOTIFY_IN", "NOTIFY_OUT", NULL};
const char *const atomic_names[] = {"ACCUMULATE", "INCREMENT",     "TEST_AND_SET",        "COMPARE_AND_SWAP",
                                    "SWAP",       "FETCH_AND_ADD", "FETCH_AND_INCREMENT", "FETCH_AND_ACCUMULATE",
                                    NULL};
const char *const io_mode_names[] = {"READ", "WRITE", "FLUSH", NULL};
const char *const io_access_names[] = {"READ_ONLY", "WRITE_ONLY", "READ_WRITE", "EXECUTE_ONLY", "SEARCH_ONLY", NULL};
const char *const io_seek_names[] = {"FROM_START", "FROM_CURRENT", "FROM_END", "DATA", "HOLE", NULL};
const char *const measurement_names[] = {"", "ON", "OFF", NULL};
const char *const severity_names[] = {"NONE", "LOW", "MEDIUM", "HIGH", NULL};
const char *const marker_scope_names[] = {"GLOBAL", "LOCATION", "LOCATION_GROUP", "SYSTEM_TREE_NODE", "GROUP",
                                          "COMM",   NULL};

#define FIELDS(...)                                                                                                    \
    (const otf2_field[])                                                                                               \
    {                                                                                                                  \
        __VA_ARGS__, END_FIELD                                                                                         \
    }
#define NAME R("name", DEF_STRING)
#define PROPERTY(owner, kind) FIELDS(R(owner, kind), NAME, E("type", type_names), V("value"))
#define NO_LIST NULL, FIELD_END, 0

const def_info def_infos[DEF_KINDS] = {
    [DEF_STRING] = {"strings", "string", UINT32_MAX, FIELDS(NAME), NO_LIST},
    [DEF_ATTRIBUTE] = {"attributes", "attribute", UINT32_MAX,
                       FIELDS(NAME, R("description", DEF_STRING), E("type", type_names)), NO_LIST},
    [DEF_LOCATION] = {"locations", "location", UINT64_MAX,
                      FIELDS(NAME, E("type", location_types), U("events"), R("group", DEF_LOCATION_GROUP)), NO_LIST},
    [DEF_REGION] = {"regions", "region", UINT32_MAX,
                    FIELDS(NAME, R("canonical_name", DEF_STRING), R("description", DEF_STRING), E("role", role_names),
                           R("paradigm", DEF_PARADIGM), U("flags"), R("file", DEF_STRING), U("line"), U("end_line")),
                    NO_LIST},
    [DEF_GROUP] = {"groups", "group", UINT32_MAX,
                   FIELDS(NAME, E("type", member_types), R("paradigm", DEF_PARADIGM), U("flags")), "members",
                   FIELD_UINT, 0},
    [DEF_METRIC] = {"metrics", "metric", UINT32_MAX,
                    FIELDS(E("occurrence", occurrence_names), E("recorder_kind", recorder_kinds),
                           R("class", DEF_METRIC), R("recorder", DEF_LOCATION), E("scope", scope_names),
                           U("scope_ref")),
                    "members", FIELD_REF, DEF_METRIC_MEMBER},
    [DEF_COMM] = {"communicators", "communicator", UINT32_MAX,
                  FIELDS(NAME, R("group", DEF_GROUP), R("group_b", DEF_GROUP), R("parent", DEF_COMM), U("flags")),
                  NO_LIST},
    [DEF_PARAMETER] = {"parameters", "parameter", UINT32_MAX, FIELDS(NAME, E("type", parameter_types)), NO_LIST},
    [DEF_RMA_WIN] = {"windows", "window", UINT32_MAX, FIELDS(NAME, R("communicator", DEF_COMM), U("flags")), NO_LIST},
    [DEF_SOURCE_CODE_LOCATION] = {"source_code_locations", "source code location", UINT32_MAX,
                                  FIELDS(R("file", DEF_STRING), U("line")), NO_LIST},
    [DEF_CALLING_CONTEXT] = {"calling_contexts", "calling context", UINT32_MAX,
                             FIELDS(R("region", DEF_REGION), R("code", DEF_SOURCE_CODE_LOCATION),
                                    R("parent", DEF_CALLING_CONTEXT)),
                             NO_LIST},
    [DEF_INTERRUPT_GENERATOR] = {"interrupt_generators", "interrupt generator", UINT32_MAX,
                                 FIELDS(NAME, E("mode", generator_modes), E("base", base_names), I("exponent"),
                                        U("period")),
                                 NO_LIST},
    [DEF_IO_FILE] = {"io_files", "I/O file", UINT32_MAX, FIELDS(NAME, R("scope", DEF_SYSTEM_TREE_NODE), U("directory")),
                     NO_LIST},
    [DEF_IO_HANDLE] = {"io_handles", "I/O handle", UINT32_MAX,
                       FIELDS(NAME, R("file", DEF_IO_FILE), R("paradigm", DEF_IO_PARADIGM), U("flags"),
                              R("communicator", DEF_COMM), R("parent", DEF_IO_HANDLE)),
                       NO_LIST},
    [DEF_LOCATION_GROUP] = {"location_groups", "location group", UINT32_MAX,
                            FIELDS(NAME, E("type", group_types), R("parent", DEF_SYSTEM_TREE_NODE),
                                   R("creator", DEF_LOCATION_GROUP)),
                            NO_LIST},
    [DEF_METRIC_MEMBER] = {"metric_members", "metric member", UINT32_MAX,
                           FIELDS(NAME, R("description", DEF_STRING), E("type", metric_types), E("mode", metric_modes),
                                  E("value_type", type_names), E("base", base_names), I("exponent"),
                                  R("unit", DEF_STRING)),
                           NO_LIST},
    [DEF_SYSTEM_TREE_NODE] = {"system_tree", "system tree node", UINT32_MAX,
                              FIELDS(NAME, R("class", DEF_STRING), R("parent", DEF_SYSTEM_TREE_NODE)), NO_LIST},
    [DEF_IO_PARADIGM] = {"io_paradigms", "I/O paradigm", UINT8_MAX,
                         FIELDS(NAME, R("identification", DEF_STRING), E("class", io_classes), U("flags"),
                                U("properties"), U("property"), E("type", type_names), V("value")),
                         NO_LIST},
    [DEF_PARADIGM] = {"paradigms", "paradigm", UINT8_MAX, FIELDS(NAME, E("class", class_names)), NO_LIST},
    [DEF_CALLSITE] = {"callsites", "callsite", UINT32_MAX,
                      FIELDS(R("file", DEF_STRING), U("line"), R("entered", DEF_REGION), R("left", DEF_REGION)),
                      NO_LIST},
    [DEF_CALLPATH] = {"callpaths", "callpath", UINT32_MAX, FIELDS(R("parent", DEF_CALLPATH), R("region", DEF_REGION)),
                      NO_LIST},
    [DEF_CART_DIMENSION] = {"cart_dimensions", "dimension", UINT32_MAX,
                            FIELDS(NAME, U("size"), E("periodic", periodicities)), NO_LIST},
    [DEF_CART_TOPOLOGY] = {"cart_topologies", "topology", UINT32_MAX, FIELDS(NAME, R("communicator", DEF_COMM)),
                           "dimensions", FIELD_REF, DEF_CART_DIMENSION},
    [DEF_PARADIGM_PROPERTY] = {"paradigm_properties", NULL, 0,
                               FIELDS(R("paradigm", DEF_PARADIGM), E("property", paradigm_properties),
                                      E("type", type_names), V("value")),
                               NO_LIST},
    [DEF_NODE_PROPERTY] = {"system_tree_properties", NULL, 0, PROPERTY("node", DEF_SYSTEM_TREE_NODE), NO_LIST},
    [DEF_NODE_DOMAIN] = {"system_tree_domains", NULL, 0,
                         FIELDS(R("node", DEF_SYSTEM_TREE_NODE), E("domain", domain_names)), NO_LIST},
    [DEF_GROUP_PROPERTY] = {"location_group_properties", NULL, 0, PROPERTY("group", DEF_LOCATION_GROUP), NO_LIST},
    [DEF_LOCATION_PROPERTY] = {"location_properties", NULL, 0, PROPERTY("location", DEF_LOCATION), NO_LIST},
    [DEF_CONTEXT_PROPERTY] = {"calling_context_properties", NULL, 0, PROPERTY("context", DEF_CALLING_CONTEXT), NO_LIST},
    [DEF_FILE_PROPERTY] = {"io_file_properties", NULL, 0, PROPERTY("file", DEF_IO_FILE), NO_LIST},
    [DEF_METRIC_RECORDER] = {"metric_recorders", NULL, 0, FIELDS(R("metric", DEF_METRIC), R("recorder", DEF_LOCATION)),
                             NO_LIST},
    [DEF_CART_COORDINATE] = {"cart_coordinates", NULL, 0, FIELDS(R("topology", DEF_CART_TOPOLOGY), U("rank")),
                             "coordinates", FIELD_UINT, 0},
    [DEF_HANDLE_STATE] = {"io_handle_states", NULL, 0,
                          FIELDS(R("handle", DEF_IO_HANDLE), E("mode", io_access_names), U("flags")), NO_LIST},
    [DEF_CALLPATH_PARAMETER] = {"callpath_parameters", NULL, 0,
                                FIELDS(R("callpath", DEF_CALLPATH), R("parameter", DEF_PARAMETER),
                                       E("type", type_names), V("value")),
                                NO_LIST},
    [DEF_CLOCK_OFFSET] = {"clock_offsets", NULL, 0,
                          FIELDS(R("location", DEF_LOCATION), U("ticks"), I("offset"), E("type", type_names),
                                 V("standard_deviation")),
                          NO_LIST},
};

unsigned otf2_field_count(const otf2_field *fields)
{
    unsigned count = 0;
    while (fields[count].type != FIELD_END) count++;
    return count;
}
