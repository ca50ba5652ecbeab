"""What of the API's OpenAPI document a test of a running server changes: its
answers are closed, and inputs name what there is."""
import copy

SCHEMAS = "#/components/schemas/"


def resolved(schema, schemas):
    """The schema without references."""
    if isinstance(schema, list):
        return [resolved(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return resolved(schemas[schema["$ref"].removeprefix(SCHEMAS)], schemas)
    return {name: resolved(value, schemas) for name, value in schema.items()}


def close(schema, part=False):
    """A field that no schema names is a fault, though a later release may add
    some. Parts of an allOf are closed together."""
    if not part and ("properties" in schema or "allOf" in schema):
        schema["unevaluatedProperties"] = False
    for one in schema.get("allOf", []):
        close(one, part=True)
    for one in schema.get("properties", {}).values():
        close(one)
    if "items" in schema:
        close(schema["items"])


def with_closed_answers(document):
    out = copy.deepcopy(document)
    schemas = out["components"]["schemas"]
    for name in schemas:
        if name.endswith(".answer"):
            schemas[name] = resolved(schemas[name], schemas)
            close(schemas[name])
    return out


def with_known_inputs(document, known, by_method):
    """Field name to values: an input's field of that name is one of them (what
    else would fit is NOT_FOUND). A method may have values of its own, or none.
    As a rule the position is one that the journal holds."""
    out = copy.deepcopy(document)
    for name, schema in out["components"]["schemas"].items():
        method, _, kind = name.rpartition(".")
        if kind != "input":
            continue
        for field, values in {**known, **by_method.get(method, {})}.items():
            if values and field in schema["properties"]:
                schema["properties"][field] = {"type": "string",
                                               "enum": values}
    position = out["components"]["parameters"]["min-position"]
    position["schema"] = {"anyOf": [{"enum": [0, 1]}, position["schema"]]}
    return out
