package main

/*
#include "tropica.h"
*/
import "C"

import (
	"unsafe"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

// The structs of C and Go are one: these arrays have a size below 0 where they differ.
var (
	_ [unsafe.Sizeof(C.tropica_version_args{}) - unsafe.Sizeof(calls.VersionArgs{})]byte
	_ [unsafe.Sizeof(calls.VersionArgs{}) - unsafe.Sizeof(C.tropica_version_args{})]byte
	_ [unsafe.Sizeof(C.tropica_handle_args{}) - unsafe.Sizeof(calls.HandleArgs{})]byte
	_ [unsafe.Sizeof(calls.HandleArgs{}) - unsafe.Sizeof(C.tropica_handle_args{})]byte
	_ [unsafe.Sizeof(C.tropica_loss_args{}) - unsafe.Sizeof(calls.LossArgs{})]byte
	_ [unsafe.Sizeof(calls.LossArgs{}) - unsafe.Sizeof(C.tropica_loss_args{})]byte
	_ [unsafe.Sizeof(C.tropica_evaluate_args{}) - unsafe.Sizeof(calls.EvaluateArgs{})]byte
	_ [unsafe.Sizeof(calls.EvaluateArgs{}) - unsafe.Sizeof(C.tropica_evaluate_args{})]byte
	_ [unsafe.Sizeof(C.tropica_sample_args{}) - unsafe.Sizeof(calls.SampleArgs{})]byte
	_ [unsafe.Sizeof(calls.SampleArgs{}) - unsafe.Sizeof(C.tropica_sample_args{})]byte
	_ [unsafe.Sizeof(C.tropica_min_risk_args{}) - unsafe.Sizeof(calls.MinRiskArgs{})]byte
	_ [unsafe.Sizeof(calls.MinRiskArgs{}) - unsafe.Sizeof(C.tropica_min_risk_args{})]byte
	_ [unsafe.Sizeof(C.tropica_lattice_args{}) - unsafe.Sizeof(calls.LatticeArgs{})]byte
	_ [unsafe.Sizeof(calls.LatticeArgs{}) - unsafe.Sizeof(C.tropica_lattice_args{})]byte
	_ [unsafe.Sizeof(C.tropica_machine_read_args{}) - unsafe.Sizeof(calls.MachineReadArgs{})]byte
	_ [unsafe.Sizeof(calls.MachineReadArgs{}) - unsafe.Sizeof(C.tropica_machine_read_args{})]byte
	_ [unsafe.Sizeof(C.tropica_machine_arcs_args{}) - unsafe.Sizeof(calls.MachineArcsArgs{})]byte
	_ [unsafe.Sizeof(calls.MachineArcsArgs{}) - unsafe.Sizeof(C.tropica_machine_arcs_args{})]byte
	_ [unsafe.Sizeof(C.tropica_machine_operate_args{}) - unsafe.Sizeof(calls.MachineOperateArgs{})]byte
	_ [unsafe.Sizeof(calls.MachineOperateArgs{}) - unsafe.Sizeof(C.tropica_machine_operate_args{})]byte
	_ [unsafe.Sizeof(C.tropica_machine_write_args{}) - unsafe.Sizeof(calls.MachineWriteArgs{})]byte
	_ [unsafe.Sizeof(calls.MachineWriteArgs{}) - unsafe.Sizeof(C.tropica_machine_write_args{})]byte
	_ [unsafe.Sizeof(C.tropica_machine_sizes_args{}) - unsafe.Sizeof(calls.MachineSizesArgs{})]byte
	_ [unsafe.Sizeof(calls.MachineSizesArgs{}) - unsafe.Sizeof(C.tropica_machine_sizes_args{})]byte
	_ [unsafe.Sizeof(C.tropica_machine_copy_args{}) - unsafe.Sizeof(calls.MachineCopyArgs{})]byte
	_ [unsafe.Sizeof(calls.MachineCopyArgs{}) - unsafe.Sizeof(C.tropica_machine_copy_args{})]byte
)
