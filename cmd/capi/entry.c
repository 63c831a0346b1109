#include "tropica.h"

#include <stdio.h>
#include <string.h>
#include <stdatomic.h>
#ifndef _WIN32
#include <pthread.h>
#endif

/* In main.go. */
extern int32_t tropicaCall(uint32_t number, void *args, uint64_t size, void *error);
extern int32_t tropicaStart(uint32_t number, void *args, uint64_t size, int64_t microseconds, uint64_t *running, void *error);
extern int32_t tropicaWait(uint64_t running, int64_t microseconds, void *error);

/* After fork only the forking thread lives in the child, and the Go runtime, which needs the
 * others, would wait for them for ever. So a child's calls go no further than here. */
static atomic_int forked;

#ifndef _WIN32
static void in_child(void) { atomic_store(&forked, 1); }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }
#endif

static int32_t refuse(tropica_error *e, int32_t status, const char *text) {
	if (e != NULL) {
		e->status = status;
		e->element = -1;
		if (e->text != NULL && e->text_room > 0)
			snprintf(e->text, (size_t)e->text_room, "%s", text);
	}
	return status;
}

static int32_t admit(tropica_error *e) {
	if (e != NULL && e->size != sizeof *e)
		return TROPICA_OLD_ABI;
	if (atomic_load(&forked))
		return refuse(e, TROPICA_FORKED,
			"this process is a child of fork, where the library cannot run: start a process of `fst serve`");
	return TROPICA_OK;
}

static int32_t enter(uint32_t number, void *args, uint64_t size, tropica_error *e) {
	int32_t status = admit(e);
	if (status != TROPICA_OK)
		return status;
	if (args == NULL)
		return refuse(e, TROPICA_INVALID, "the struct of arguments is null");
	return tropicaCall(number, args, size, e);
}

int32_t tropica_start(uint32_t call, void *args, int64_t microseconds, tropica_handle *running, tropica_error *e) {
	int32_t status = admit(e);
	if (status != TROPICA_OK)
		return status;
	if (args == NULL || running == NULL)
		return refuse(e, TROPICA_INVALID, args == NULL ? "the struct of arguments is null" : "the pointer `running` is null");
	*running = 0;
	uint64_t size = *(uint64_t *)args;
	if (size > 4096)
		return refuse(e, TROPICA_OLD_ABI, "the struct of arguments has not its size in it: set it to sizeof");
	return tropicaStart(call, args, size, microseconds, running, e);
}

int32_t tropica_wait(tropica_handle running, int64_t microseconds, tropica_error *e) {
	int32_t status = admit(e);
	return status != TROPICA_OK ? status : tropicaWait(running, microseconds, e);
}

#define CALL(number, name, args) \
	int32_t tropica_##name(args *a, tropica_error *e) { return enter(number, a, sizeof *a, e); }

CALL(TROPICA_CALL_VERSION, version, tropica_version_args)
CALL(TROPICA_CALL_FREE, free, tropica_handle_args)
CALL(TROPICA_CALL_CANCEL_NEW, cancel_new, tropica_handle_args)
CALL(TROPICA_CALL_CANCEL, cancel, tropica_handle_args)
CALL(TROPICA_CALL_LOSS, loss, tropica_loss_args)
CALL(TROPICA_CALL_SESSION, session, tropica_handle_args)
CALL(TROPICA_CALL_EVALUATE, evaluate, tropica_evaluate_args)
CALL(TROPICA_CALL_SAMPLE, sample, tropica_sample_args)
CALL(TROPICA_CALL_MIN_RISK, min_risk, tropica_min_risk_args)
CALL(TROPICA_CALL_LATTICE, lattice, tropica_lattice_args)
CALL(TROPICA_CALL_MACHINE_READ, machine_read, tropica_machine_read_args)
CALL(TROPICA_CALL_MACHINE_ARCS, machine_arcs, tropica_machine_arcs_args)
CALL(TROPICA_CALL_MACHINE_OPERATE, machine_operate, tropica_machine_operate_args)
CALL(TROPICA_CALL_MACHINE_WRITE, machine_write, tropica_machine_write_args)
CALL(TROPICA_CALL_MACHINE_SIZES, machine_sizes, tropica_machine_sizes_args)
CALL(TROPICA_CALL_MACHINE_COPY, machine_copy, tropica_machine_copy_args)
