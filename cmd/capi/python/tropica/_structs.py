"""The structs of tropica.h, which the library and a worker process share."""

import ctypes as c

ABI = 2

OK, INVALID, OVER_LIMIT, CANCELLED, FORKED, OLD_ABI, BAD_HANDLE, BUG, RUNNING = range(9)

# Numbers of calls, as entry.c has them.
CALLS = {name: i + 1 for i, name in enumerate(
    "version free cancel_new cancel loss session evaluate sample min_risk lattice "
    "machine_read machine_arcs machine_operate machine_write machine_sizes machine_copy".split())}


class Error(c.Structure):
    _fields_ = [("size", c.c_uint64), ("text", c.c_void_p), ("text_room", c.c_int64),
                ("status", c.c_int64), ("element", c.c_int64)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_uint64), ("type", c.c_int64), ("batch_stride", c.c_int64), ("row_stride", c.c_int64)]


def _struct(name, fields):
    """Makes a struct of `size` and the fields: names are int64, `*name` an address, `.name` a
    double, `#name` an unsigned number or handle, `@name` a tensor."""
    kinds = {"*": c.c_uint64, ".": c.c_double, "#": c.c_uint64, "@": Tensor}
    out = [("size", c.c_uint64)]
    for f in fields.split():
        kind = kinds.get(f[0])
        out.append((f[1:], kind) if kind else (f, c.c_int64))
    return type(name, (c.Structure,), {"_fields_": out, "__slots__": ()})


VersionArgs = _struct("VersionArgs", "abi")
HandleArgs = _struct("HandleArgs", "#handle")
LossArgs = _struct("LossArgs", "*spec spec_bytes *file file_bytes limit #loss")
EvaluateArgs = _struct(
    "EvaluateArgs",
    "#session #cancel #loss .gamma batch length window alphabet order workers *references *offsets *lengths "
    "@theta @direction *log_z *log_z0 *expected *risk *score *max_aug *max_score *argmax *viterbi *log_z_error "
    "@marginals @risk_gradient @hvp @risk_hvp less_reference")
SampleArgs = _struct(
    "SampleArgs",
    "#session #cancel #loss .gamma batch length window alphabet order workers *references *offsets *lengths "
    "@theta #seed count *strings")
MinRiskArgs = _struct("MinRiskArgs", "#cancel #loss alphabet count *symbols *offsets *log_weights *risks best")
LatticeArgs = _struct(
    "LatticeArgs",
    "#cancel #loss .gamma alphabet states arcs *from *to *label *score *final *reference reference_count *direction "
    ".log_z .log_z0 .expected .risk .max_aug *marginals *risk_gradient *hvp *risk_hvp *argmax argmax_room argmax_count")
MachineReadArgs = _struct("MachineReadArgs", "*data bytes text type #machine")
MachineArcsArgs = _struct("MachineArcsArgs", "type states arcs start *from *to *ilabel *olabel *weight *final #machine")
MachineOperateArgs = _struct("MachineOperateArgs", "#cancel *name name_bytes *options options_bytes #a #b limit #machine .answer")
MachineWriteArgs = _struct("MachineWriteArgs", "#machine text *data room needed")
MachineSizesArgs = _struct("MachineSizesArgs", "#machine type states arcs start")
MachineCopyArgs = _struct("MachineCopyArgs", "#machine *from *to *ilabel *olabel *weight *final")
