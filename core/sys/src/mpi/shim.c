/* The part of MPI that an agent of fathomp uses, without any of MPI's types in its interface:
   these differ from one MPI to another, so this file is compiled by the user's mpicc and loaded
   at run time. All functions are called by one thread, and none of them waits for another
   process but fathomp_mpi_init, fathomp_mpi_gather and fathomp_mpi_finalize.

   Functions that can fail give a negative number; fathomp_mpi_why then says why. */

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* The version of this interface, which the other side compares. */
#define INTERFACE 1

enum { FAILED = -1, NOTHING = -2 };

/* Messages that are being sent at a time, at most. */
#define SLOTS 64
/* No other messages have this tag. */
#define TAG 7

static char why[512];
static MPI_Comm world;
static MPI_Request sending[SLOTS];
static MPI_Request receiving;
static int receiving_bytes;
static int receiving_from;

static int failed(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    snprintf(why, sizeof why, "%s: %.400s", what, text);
    return FAILED;
}

int fathomp_mpi_interface(void) { return INTERFACE; }
int fathomp_mpi_slots(void) { return SLOTS; }
const char *fathomp_mpi_why(void) { return why; }

/* Begins; gives this process's rank and how many there are. */
int fathomp_mpi_init(int *rank, int *size)
{
    int provided, code, on = 0;
    /* The thread that calls this makes all further calls, and is the only one. */
    if ((code = MPI_Initialized(&on)) == MPI_SUCCESS && !on)
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS)
        return failed("MPI_Init_thread", code);
    /* Messages of this library and no others; errors come back instead of ending the process. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if ((code = MPI_Comm_dup(MPI_COMM_WORLD, &world)) != MPI_SUCCESS)
        return failed("MPI_Comm_dup", code);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, rank);
    MPI_Comm_size(world, size);
    for (int slot = 0; slot < SLOTS; slot++)
        sending[slot] = MPI_REQUEST_NULL;
    receiving = MPI_REQUEST_NULL;
    return 0;
}

/* What the library calls itself, up to the first line's end. */
int fathomp_mpi_version(char *text, int room)
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, code;
    if ((code = MPI_Get_library_version(whole, &length)) != MPI_SUCCESS)
        return failed("MPI_Get_library_version", code);
    whole[strcspn(whole, "\n")] = 0;
    return snprintf(text, room, "%s", whole);
}

/* Gives every process what all of them have, in the order of ranks. */
int fathomp_mpi_gather(const void *mine, int bytes, void *all)
{
    int code = MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, world);
    return code == MPI_SUCCESS ? 0 : failed("MPI_Allgather", code);
}

/* Begins to send. The bytes stay as they are until fathomp_mpi_sent says so. */
int fathomp_mpi_send(int to, const void *bytes, int count, int slot)
{
    int code = MPI_Isend(bytes, count, MPI_BYTE, to, TAG, world, &sending[slot]);
    return code == MPI_SUCCESS ? 0 : failed("MPI_Isend", code);
}

/* Whether what was sent from this slot has left it: 1 or 0. */
int fathomp_mpi_sent(int slot)
{
    int done = 0;
    int code = MPI_Test(&sending[slot], &done, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? done != 0 : failed("MPI_Isend", code);
}

/* The next message, if one has come as a whole: its bytes and whom it is from. It may come into
   `bytes` from the first call on, so every call has to name the same place. */
int fathomp_mpi_receive(int *from, void *bytes, int room)
{
    int there = 0, code;
    if (receiving == MPI_REQUEST_NULL) {
        MPI_Message message;
        MPI_Status status;
        code = MPI_Improbe(MPI_ANY_SOURCE, TAG, world, &there, &message, &status);
        if (code != MPI_SUCCESS)
            return failed("MPI_Improbe", code);
        if (!there)
            return NOTHING;
        MPI_Get_count(&status, MPI_BYTE, &receiving_bytes);
        receiving_from = status.MPI_SOURCE;
        if (receiving_bytes < 0 || receiving_bytes > room) {
            snprintf(why, sizeof why, "a message of %d bytes has come", receiving_bytes);
            return FAILED;
        }
        code = MPI_Imrecv(bytes, receiving_bytes, MPI_BYTE, &message, &receiving);
        if (code != MPI_SUCCESS)
            return failed("MPI_Imrecv", code);
    }
    code = MPI_Test(&receiving, &there, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS)
        return failed("MPI_Imrecv", code);
    if (!there)
        return NOTHING;
    *from = receiving_from;
    return receiving_bytes;
}

/* Ends MPI, once all processes do. */
int fathomp_mpi_finalize(void)
{
    int code = MPI_Finalize();
    return code == MPI_SUCCESS ? 0 : FAILED;
}
