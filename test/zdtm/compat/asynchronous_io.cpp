// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace {
// The context as 32-bit calls take it. The header's type has 64 bits in some versions.
using Context = unsigned;

void submit_read(Context context, int file, char* into, std::uint64_t mark) {
    iocb request{};
    request.aio_data = mark;
    request.aio_lio_opcode = IOCB_CMD_PREAD;
    request.aio_fildes = static_cast<std::uint32_t>(file);
    request.aio_buf = reinterpret_cast<std::uintptr_t>(into);
    request.aio_nbytes = 4;
    iocb* const all[] = {&request};
    CHECK(syscall(SYS_io_submit, context, 1, all) == 1, "%s", strerror(errno));
}

void take_result(Context context, std::uint64_t mark) {
    io_event event{};
    struct {
        long seconds, nanoseconds;
    } const limit{5, 0};
    CHECK(syscall(SYS_io_getevents, context, 1, 1, &event, &limit) == 1, "%s", strerror(errno));
    CHECK(event.data == mark && event.res == 4, "result of %llu: %lld", event.data, event.res);
}
}  // namespace

ZDTM("asynchronous I/O of a 32-bit program: the context and a result that waits") {
    zdtm::write_file("data", "0123456789");
    const int file = SYS(open("data", O_RDONLY));
    Context context = 0;
    if (syscall(SYS_io_setup, 8, &context) != 0) {
        zdtm::skip("io_setup: %s", strerror(errno));
    }
    char one[5] = {};
    char other[5] = {};
    submit_read(context, file, one, 11);
    take_result(context, 11);
    submit_read(context, file, other, 12);
    me.wait_for_check();

    take_result(context, 12);
    CHECK(strcmp(other, "0123") == 0, "read %s", other);
    memset(one, 0, sizeof(one));
    submit_read(context, file, one, 13);
    take_result(context, 13);
    CHECK(strcmp(one, "0123") == 0, "read %s", one);
    SYS(syscall(SYS_io_destroy, context));
}
