/* defs.c - definitions as the library delivers them, each as an id, numbers and at most one list
 *
 * References are not resolved here: OTF2 does not specify the order of definitions.
 */
#include "format/otf2/read/read.h"

OTF2_CallbackCode otf2_stop(otf2_reader *r, hd_status status)
{
    if (r->status == HD_OK) r->status = status;
    return OTF2_CALLBACK_INTERRUPT;
}

static void copy_list(uint64_t *out, const void *list, uint32_t count, unsigned width)
{
    for (uint32_t i = 0; i < count; i++) {
        switch (width) {
        case 4: out[i] = ((const uint32_t *)list)[i]; break;
        default: out[i] = ((const uint64_t *)list)[i]; break;
        }
    }
}

OTF2_CallbackCode otf2_add_definition(otf2_reader *r, def_kind kind, uint64_t ref, const uint64_t *values,
                                      const void *list, uint32_t list_count, unsigned list_width)
{
    def_table *table = &r->defs[kind];
    const def_info *info = &def_infos[kind];
    unsigned fields = otf2_field_count(info->fields);
    r->definition_count++;
    if (kind < DEF_REFERRED && hd_map_find(&table->map, ref, 0)) {
        otf2_lint_place(&r->lint, LINT_DUPLICATE, ref, "%s %llu is defined twice; the first is taken", info->singular,
                        (unsigned long long)ref);
        return OTF2_CALLBACK_SUCCESS;
    }
    otf2_def *def = hd_arena_alloc(&r->arena, sizeof *def);
    if (!def || !hd_grow((void **)&table->list, &table->capacity, table->count, sizeof def))
        return otf2_stop(r, HD_NOMEM(r->err));
    *def = (otf2_def){.ref = ref, .track = HD_NONE, .list_count = list_count};
    def->values = hd_arena_alloc(&r->arena, fields * sizeof *def->values);
    def->list = hd_arena_alloc(&r->arena, list_count * sizeof *def->list);
    if (!def->values || !def->list) return otf2_stop(r, HD_NOMEM(r->err));
    for (unsigned i = 0; i < fields; i++) def->values[i] = values[i];
    copy_list(def->list, list, list_count, list_width);
    if (kind < DEF_REFERRED && !hd_map_set(&table->map, ref, 0, (uint32_t)table->count))
        return otf2_stop(r, HD_NOMEM(r->err));
    table->list[table->count++] = def;
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- callbacks ---- */

/* The bodies of all callbacks, whose parameters differ. */
#define ADD(kind, ref, ...) otf2_add_definition(user, kind, ref, (const uint64_t[]){__VA_ARGS__}, NULL, 0, 8)
#define ADD_LIST(kind, ref, list, count, ...)                                                                          \
    otf2_add_definition(user, kind, ref, (const uint64_t[]){__VA_ARGS__}, list, count, sizeof *(list))

static OTF2_CallbackCode on_unknown(void *user)
{
    otf2_reader *r = user;
    otf2_lint_place(&r->lint, LINT_DEFINITION_UNKNOWN, r->definition_count, "a definition of a newer OTF2");
    r->definition_count++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_clock(void *user, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime)
{
    otf2_reader *r = user;
    r->definition_count++;
    if (r->has_clock) {
        otf2_lint_place(&r->lint, LINT_DUPLICATE, 0, "the clock is defined twice; the first is taken");
        return OTF2_CALLBACK_SUCCESS;
    }
    r->has_clock = true;
    r->resolution = resolution;
    r->offset = offset;
    r->length = length;
    r->realtime = realtime;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *user, OTF2_StringRef self, const char *text)
{
    otf2_reader *r = user;
    OTF2_CallbackCode code = otf2_add_definition(r, DEF_STRING, self, (const uint64_t[]){self}, NULL, 0, 8);
    def_table *table = &r->defs[DEF_STRING];
    if (code == OTF2_CALLBACK_SUCCESS && table->list[table->count - 1]->name == HD_STRING_NONE)
        table->list[table->count - 1]->name = otf2_intern(r, text);
    return code;
}

static OTF2_CallbackCode on_paradigm(void *user, OTF2_Paradigm paradigm, OTF2_StringRef name, OTF2_ParadigmClass class)
{
    return ADD(DEF_PARADIGM, paradigm, name, class);
}

static OTF2_CallbackCode on_paradigm_property(void *user, OTF2_Paradigm paradigm, OTF2_ParadigmProperty property,
                                              OTF2_Type type, OTF2_AttributeValue value)
{
    return ADD(DEF_PARADIGM_PROPERTY, 0, paradigm, property, type, value.uint64);
}

static OTF2_CallbackCode on_io_paradigm(void *user, OTF2_IoParadigmRef self, OTF2_StringRef identification,
                                        OTF2_StringRef name, OTF2_IoParadigmClass class, OTF2_IoParadigmFlag flags,
                                        uint8_t property_count, const OTF2_IoParadigmProperty *properties,
                                        const OTF2_Type *types, const OTF2_AttributeValue *values)
{
    return ADD(DEF_IO_PARADIGM, self, name, identification, class, flags, property_count,
               property_count ? properties[0] : 0, property_count ? types[0] : OTF2_TYPE_NONE,
               property_count ? values[0].uint64 : 0);
}

static OTF2_CallbackCode on_attribute(void *user, OTF2_AttributeRef self, OTF2_StringRef name,
                                      OTF2_StringRef description, OTF2_Type type)
{
    return ADD(DEF_ATTRIBUTE, self, name, description, type);
}

static OTF2_CallbackCode on_node(void *user, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef class,
                                 OTF2_SystemTreeNodeRef parent)
{
    return ADD(DEF_SYSTEM_TREE_NODE, self, name, class, parent);
}

static OTF2_CallbackCode on_location_group(void *user, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                           OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
                                           OTF2_LocationGroupRef creator)
{
    return ADD(DEF_LOCATION_GROUP, self, name, type, parent, creator);
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef group)
{
    return ADD(DEF_LOCATION, self, name, type, events, group);
}

static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical,
                                   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t line, uint32_t end_line)
{
    return ADD(DEF_REGION, self, name, canonical, description, role, paradigm, flags, file, line, end_line);
}

static OTF2_CallbackCode on_callsite(void *user, OTF2_CallsiteRef self, OTF2_StringRef file, uint32_t line,
                                     OTF2_RegionRef entered, OTF2_RegionRef left)
{
    return ADD(DEF_CALLSITE, self, file, line, entered, left);
}

static OTF2_CallbackCode on_callpath(void *user, OTF2_CallpathRef self, OTF2_CallpathRef parent, OTF2_RegionRef region)
{
    return ADD(DEF_CALLPATH, self, parent, region);
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t count, const uint64_t *members)
{
    return ADD_LIST(DEF_GROUP, self, members, count, name, type, paradigm, flags);
}

static OTF2_CallbackCode on_metric_member(void *user, OTF2_MetricMemberRef self, OTF2_StringRef name,
                                          OTF2_StringRef description, OTF2_MetricType type, OTF2_MetricMode mode,
                                          OTF2_Type value_type, OTF2_Base base, int64_t exponent, OTF2_StringRef unit)
{
    return ADD(DEF_METRIC_MEMBER, self, name, description, type, mode, value_type, base, (uint64_t)exponent, unit);
}

static OTF2_CallbackCode on_metric_class(void *user, OTF2_MetricRef self, uint8_t count,
                                         const OTF2_MetricMemberRef *members, OTF2_MetricOccurrence occurrence,
                                         OTF2_RecorderKind recorder)
{
    return ADD_LIST(DEF_METRIC, self, members, count, occurrence, recorder, OTF2_UNDEFINED_METRIC,
                    OTF2_UNDEFINED_LOCATION, UINT64_MAX, UINT64_MAX);
}

static OTF2_CallbackCode on_metric_instance(void *user, OTF2_MetricRef self, OTF2_MetricRef class,
                                            OTF2_LocationRef recorder, OTF2_MetricScope scope, uint64_t scope_ref)
{
    return ADD(DEF_METRIC, self, UINT64_MAX, UINT64_MAX, class, recorder, scope, scope_ref);
}

static OTF2_CallbackCode on_metric_recorder(void *user, OTF2_MetricRef metric, OTF2_LocationRef recorder)
{
    return ADD(DEF_METRIC_RECORDER, 0, metric, recorder);
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags)
{
    return ADD(DEF_COMM, self, name, group, OTF2_UNDEFINED_GROUP, parent, flags);
}

static OTF2_CallbackCode on_inter_comm(void *user, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group_a,
                                       OTF2_GroupRef group_b, OTF2_CommRef common, OTF2_CommFlag flags)
{
    return ADD(DEF_COMM, self, name, group_a, group_b, common, flags);
}

static OTF2_CallbackCode on_parameter(void *user, OTF2_ParameterRef self, OTF2_StringRef name, OTF2_ParameterType type)
{
    return ADD(DEF_PARAMETER, self, name, type);
}

static OTF2_CallbackCode on_window(void *user, OTF2_RmaWinRef self, OTF2_StringRef name, OTF2_CommRef comm,
                                   OTF2_RmaWinFlag flags)
{
    return ADD(DEF_RMA_WIN, self, name, comm, flags);
}

static OTF2_CallbackCode on_node_property(void *user, OTF2_SystemTreeNodeRef node, OTF2_StringRef name, OTF2_Type type,
                                          OTF2_AttributeValue value)
{
    return ADD(DEF_NODE_PROPERTY, 0, node, name, type, value.uint64);
}

static OTF2_CallbackCode on_node_domain(void *user, OTF2_SystemTreeNodeRef node, OTF2_SystemTreeDomain domain)
{
    return ADD(DEF_NODE_DOMAIN, 0, node, domain);
}

static OTF2_CallbackCode on_group_property(void *user, OTF2_LocationGroupRef group, OTF2_StringRef name, OTF2_Type type,
                                           OTF2_AttributeValue value)
{
    return ADD(DEF_GROUP_PROPERTY, 0, group, name, type, value.uint64);
}

static OTF2_CallbackCode on_location_property(void *user, OTF2_LocationRef location, OTF2_StringRef name,
                                              OTF2_Type type, OTF2_AttributeValue value)
{
    return ADD(DEF_LOCATION_PROPERTY, 0, location, name, type, value.uint64);
}

static OTF2_CallbackCode on_dimension(void *user, OTF2_CartDimensionRef self, OTF2_StringRef name, uint32_t size,
                                      OTF2_CartPeriodicity periodicity)
{
    return ADD(DEF_CART_DIMENSION, self, name, size, periodicity);
}

static OTF2_CallbackCode on_topology(void *user, OTF2_CartTopologyRef self, OTF2_StringRef name, OTF2_CommRef comm,
                                     uint8_t count, const OTF2_CartDimensionRef *dimensions)
{
    return ADD_LIST(DEF_CART_TOPOLOGY, self, dimensions, count, name, comm);
}

static OTF2_CallbackCode on_coordinate(void *user, OTF2_CartTopologyRef topology, uint32_t rank, uint8_t count,
                                       const uint32_t *coordinates)
{
    return ADD_LIST(DEF_CART_COORDINATE, 0, coordinates, count, topology, rank);
}

static OTF2_CallbackCode on_code(void *user, OTF2_SourceCodeLocationRef self, OTF2_StringRef file, uint32_t line)
{
    return ADD(DEF_SOURCE_CODE_LOCATION, self, file, line);
}

static OTF2_CallbackCode on_context(void *user, OTF2_CallingContextRef self, OTF2_RegionRef region,
                                    OTF2_SourceCodeLocationRef code, OTF2_CallingContextRef parent)
{
    return ADD(DEF_CALLING_CONTEXT, self, region, code, parent);
}

static OTF2_CallbackCode on_context_property(void *user, OTF2_CallingContextRef context, OTF2_StringRef name,
                                             OTF2_Type type, OTF2_AttributeValue value)
{
    return ADD(DEF_CONTEXT_PROPERTY, 0, context, name, type, value.uint64);
}

static OTF2_CallbackCode on_generator(void *user, OTF2_InterruptGeneratorRef self, OTF2_StringRef name,
                                      OTF2_InterruptGeneratorMode mode, OTF2_Base base, int64_t exponent,
                                      uint64_t period)
{
    return ADD(DEF_INTERRUPT_GENERATOR, self, name, mode, base, (uint64_t)exponent, period);
}

static OTF2_CallbackCode on_file_property(void *user, OTF2_IoFileRef file, OTF2_StringRef name, OTF2_Type type,
                                          OTF2_AttributeValue value)
{
    return ADD(DEF_FILE_PROPERTY, 0, file, name, type, value.uint64);
}

static OTF2_CallbackCode on_file(void *user, OTF2_IoFileRef self, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
    return ADD(DEF_IO_FILE, self, name, scope, 0);
}

static OTF2_CallbackCode on_directory(void *user, OTF2_IoFileRef self, OTF2_StringRef name,
                                      OTF2_SystemTreeNodeRef scope)
{
    return ADD(DEF_IO_FILE, self, name, scope, 1);
}

static OTF2_CallbackCode on_handle(void *user, OTF2_IoHandleRef self, OTF2_StringRef name, OTF2_IoFileRef file,
                                   OTF2_IoParadigmRef paradigm, OTF2_IoHandleFlag flags, OTF2_CommRef comm,
                                   OTF2_IoHandleRef parent)
{
    return ADD(DEF_IO_HANDLE, self, name, file, paradigm, flags, comm, parent);
}

static OTF2_CallbackCode on_handle_state(void *user, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
                                         OTF2_IoStatusFlag flags)
{
    return ADD(DEF_HANDLE_STATE, 0, handle, mode, flags);
}

static OTF2_CallbackCode on_callpath_parameter(void *user, OTF2_CallpathRef callpath, OTF2_ParameterRef parameter,
                                               OTF2_Type type, OTF2_AttributeValue value)
{
    return ADD(DEF_CALLPATH_PARAMETER, 0, callpath, parameter, type, value.uint64);
}

#define SET(name, function) OTF2_GlobalDefReaderCallbacks_Set##name##Callback(callbacks, function)

static void set_callbacks(OTF2_GlobalDefReaderCallbacks *callbacks)
{
    SET(Unknown, on_unknown);
    SET(ClockProperties, on_clock);
    SET(Paradigm, on_paradigm);
    SET(ParadigmProperty, on_paradigm_property);
    SET(IoParadigm, on_io_paradigm);
    SET(String, on_string);
    SET(Attribute, on_attribute);
    SET(SystemTreeNode, on_node);
    SET(LocationGroup, on_location_group);
    SET(Location, on_location);
    SET(Region, on_region);
    SET(Callsite, on_callsite);
    SET(Callpath, on_callpath);
    SET(Group, on_group);
    SET(MetricMember, on_metric_member);
    SET(MetricClass, on_metric_class);
    SET(MetricInstance, on_metric_instance);
    SET(Comm, on_comm);
    SET(Parameter, on_parameter);
    SET(RmaWin, on_window);
    SET(MetricClassRecorder, on_metric_recorder);
    SET(SystemTreeNodeProperty, on_node_property);
    SET(SystemTreeNodeDomain, on_node_domain);
    SET(LocationGroupProperty, on_group_property);
    SET(LocationProperty, on_location_property);
    SET(CartDimension, on_dimension);
    SET(CartTopology, on_topology);
    SET(CartCoordinate, on_coordinate);
    SET(SourceCodeLocation, on_code);
    SET(CallingContext, on_context);
    SET(CallingContextProperty, on_context_property);
    SET(InterruptGenerator, on_generator);
    SET(IoFileProperty, on_file_property);
    SET(IoRegularFile, on_file);
    SET(IoDirectory, on_directory);
    SET(IoHandle, on_handle);
    SET(IoPreCreatedHandleState, on_handle_state);
    SET(CallpathParameter, on_callpath_parameter);
    SET(InterComm, on_inter_comm);
}

/* The file is damaged if the library says so, and if it has fewer than the anchor says. */
static void check_count(otf2_reader *r, OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS)
        otf2_lint_place(&r->lint, LINT_DEFINITIONS_DAMAGED, r->definition_count, "%s, after %llu of %llu definitions",
                        OTF2_Error_GetDescription(code), (unsigned long long)r->definition_count,
                        (unsigned long long)r->anchor.definition_count);
    else if (r->definition_count != r->anchor.definition_count)
        otf2_lint_place(&r->lint, LINT_DEFINITION_COUNT, r->definition_count, "%llu definitions; the anchor says %llu",
                        (unsigned long long)r->definition_count, (unsigned long long)r->anchor.definition_count);
}

hd_status otf2_read_definitions(otf2_reader *r)
{
    OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(r->lib);
    if (!reader)
        return hd_error_set(r->err, HD_ERR_DAMAGED, r->path, HD_OFFSET_NONE,
                            "the archive's definitions (.def) are missing or unreadable");
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    if (!callbacks) return HD_NOMEM(r->err);
    set_callbacks(callbacks);
    OTF2_Reader_RegisterGlobalDefCallbacks(r->lib, reader, callbacks, r);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    uint64_t count = 0;
    /* A definition takes at least two bytes. The library may loop for ever in a truncated file. */
    uint64_t most = otf2_file_bytes(r, ".def");
    OTF2_ErrorCode code = OTF2_Reader_ReadGlobalDefinitions(r->lib, reader, most ? most : 1, &count);
    OTF2_Reader_CloseGlobalDefReader(r->lib, reader);
    if (r->status != HD_OK) return r->status;
    check_count(r, code);
    if (r->defs[DEF_LOCATION].count == 0 && code != OTF2_SUCCESS)
        return hd_error_set(r->err, HD_ERR_DAMAGED, r->path, HD_OFFSET_NONE,
                            "no location can be read from the archive's definitions (.def): %s",
                            OTF2_Error_GetDescription(code));
    if (!r->has_clock || r->resolution == 0) {
        otf2_lint_place(&r->lint, LINT_CLOCK, 0, "%s; ticks are taken as nanoseconds",
                        r->has_clock ? "the clock has no ticks per second" : "no clock is defined");
        r->resolution = 1000000000;
        r->offset = 0;
        r->length = UINT64_MAX;
        r->realtime = UINT64_MAX;
    }
    r->has_ps = 1000000000 % r->resolution != 0;
    return HD_OK;
}
