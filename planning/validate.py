"""Check a config, and name every fault by its key, what was given and what is allowed."""

import functools
import math
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, validators
from snakemake.exceptions import WorkflowError

import kernels
import operations
from measure.point import MIN_BLOCKS, nearest
from measure.row import MAX_ELEMENTS

TYPES = {
    "object": "must be a table, as {key: value}",
    "array": "must be a list, as [this, that]",
    "string": "must be text",
    "number": "must be a finite number",
    "integer": "must be a whole number",
}
SCHEMA_FILE = Path(__file__).parents[1] / "workflow" / "schemas" / "config.schema.yaml"


class ConfigError(WorkflowError):
    """Report a config that cannot be used; Snakemake prints the message without a traceback."""


def validate_config(config: dict) -> None:
    """Raise ConfigError unless `config` fits the schema and names variants that exist."""
    errors = sorted(_validator().iter_errors(config), key=lambda e: [str(p) for p in e.path])
    faults = [_message(error) for error in errors]
    faults = faults or _bad_files(config) or _unknown_names(config)
    if faults:
        unique = dict.fromkeys(faults)
        raise ConfigError("\n".join(["the configuration is not usable:", *unique]))


@functools.cache
def _validator():
    # YAML's 1024.0 is an integer to JSON Schema, but not to a matrix; and its .nan is a number,
    # which no comparison with a limit refuses.
    kinds = {
        "integer": lambda _, value: type(value) is int,
        "number": lambda _, value: type(value) in (int, float) and math.isfinite(value),
    }
    strict = Draft202012Validator.TYPE_CHECKER.redefine_many(kinds)
    schema = yaml.safe_load(SCHEMA_FILE.read_text(encoding="utf-8"))
    schema["properties"]["blocks"]["minimum"] = MIN_BLOCKS
    schema["$defs"]["size"]["maximum"] = MAX_ELEMENTS
    schema["$defs"]["dtypes"]["items"]["enum"] = list(kernels.DTYPES)
    return validators.extend(Draft202012Validator, type_checker=strict)(schema)


def _message(error) -> str:
    path = error.json_path.removeprefix("$").removeprefix(".")  # shapes[0].N
    value = error.instance
    if error.validator == "additionalProperties":
        allowed = error.schema["properties"]
        unknown = [key for key in value if key not in allowed]
        prefix = f"{path}: " if path else ""
        return "; ".join(f"  {prefix}unknown key {key!r}{nearest(key, allowed)}" for key in unknown)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in value]
        return f"  {path or 'config'}: missing {', '.join(missing)}"
    if error.validator == "enum":
        title = f": {error.schema['title']}" if "title" in error.schema else ""
        allowed = nearest(value, error.validator_value)
        return f"  {path}: unknown value {value!r}{title}{allowed}"
    if error.validator == "oneOf":
        has_both = {"M", "elements"} <= set(value)
        return f"  {path}: give M or elements" + (", not both" if has_both else "")
    rule = {
        "minItems": "the list is empty; name at least one",
        "minimum": f"must be at least {error.validator_value}",
        "maximum": f"must be at most {error.validator_value}",
        "maxLength": f"at most {error.validator_value} characters"
        + (" (it is part of file names)" if "pattern" in error.schema else ""),
        "exclusiveMinimum": f"must be above {error.validator_value}",
        "pattern": "only lower-case letters, digits"
        + (" and underscores" if "_" in str(error.validator_value) else ""),
        "type": error.schema.get("title") or TYPES.get(error.validator_value),
    }.get(error.validator, error.message)
    if isinstance(value, str) and value.isdecimal():
        rule += "; `--config` passes numbers in lists as strings; use --configfile"
        if error.path[0] == "shapes":
            rule += ", or give one matrix as shape=4096x128256"
    return f"  {path} = {value!r}: {rule}"


def ops(config: dict) -> list[str]:
    """Return the operations of a sweep."""
    return [config["op"]] if isinstance(config["op"], str) else config["op"]


def _bad_files(config: dict) -> list[str]:
    """Add the config's files to operations and variants; return what is wrong with them."""
    faults = []
    kinds = {"operation_files": operations.add, "kernel_files": kernels.add_variant}
    for key, add in kinds.items():
        for index, path in enumerate(config[key]):
            try:
                add(path)
            except (operations.OperationFileError, kernels.KernelFileError) as error:
                faults.append(f"  {key}[{index}]: {error}")
    return faults


def _unknown_names(config: dict) -> list[str]:
    requested = ops(config)
    if unknown := [op for op in requested if op not in operations.names()]:
        return [f"  op: unknown value {op!r}{nearest(op, operations.names())}" for op in unknown]
    places = {"variants": config["variants"]}
    for index, shape in enumerate(config["shapes"]):
        if "variants" in shape:
            places[f"shapes[{index}].variants"] = shape["variants"]
    faults = []
    for place, names in places.items():
        # a keyword reads the files of all variants of an operation
        is_keyword = isinstance(names, str)
        read = kernels.default_variants if is_keyword else kernels.variant_file
        for name in requested if is_keyword else names:
            try:
                read(name)
            except kernels.KernelFileError as error:
                faults.append(f"  {error}")
            except KeyError as error:
                faults.append(f"  {place}: {error.args[0]}")
    return faults
