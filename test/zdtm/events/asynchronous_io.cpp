// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include <vector>

#include "zdtm.hpp"

namespace {

// Requests writes that end at once. Each result carries a number.
class Ring {
public:
    explicit Ring(unsigned requests) : file_(SYS(open("aio-file", O_RDWR | O_CREAT, 0600))) {
        SYS(syscall(SYS_io_setup, requests, &context_));
    }

    void submit(std::uint64_t number) {
        iocb request{};
        request.aio_fildes = static_cast<unsigned>(file_);
        request.aio_lio_opcode = IOCB_CMD_PWRITE;
        request.aio_buf = reinterpret_cast<std::uint64_t>(&number);
        request.aio_nbytes = sizeof(number);
        request.aio_data = number;
        iocb* all[] = {&request};
        CHECK(SYS(syscall(SYS_io_submit, context_, 1L, all)) == 1, "number %lu", number);
    }

    void take(std::uint64_t number) {
        io_event result{};
        timespec none{};
        CHECK(SYS(syscall(SYS_io_getevents, context_, 1L, 1L, &result, &none)) == 1, "nothing instead of %lu", number);
        CHECK(result.data == number && result.res == sizeof(number), "data %llu, result %lld instead of %lu",
              result.data, result.res, number);
    }

    void take_nothing() {
        io_event result{};
        timespec none{};
        CHECK(SYS(syscall(SYS_io_getevents, context_, 0L, 1L, &result, &none)) == 0, "data %llu", result.data);
    }

    [[nodiscard]] unsigned events() const { return reinterpret_cast<const unsigned*>(context_)[1]; }
    [[nodiscard]] unsigned long context() const { return context_; }

    void destroy() { SYS(syscall(SYS_io_destroy, context_)); }

private:
    int file_;
    aio_context_t context_ = 0;
};

}  // namespace

ZDTM("asynchronous I/O contexts: empty, with results, and with results that wrap around the ring's end") {
    Ring empty(10);
    Ring some(200);
    Ring round(64);
    for (std::uint64_t number = 0; number < 100; ++number) {
        some.submit(number);
        if (number % 4 == 0) {
            some.take(number / 4);
        }
    }
    const unsigned turn = round.events() - 10;
    for (std::uint64_t number = 0; number < turn; ++number) {
        round.submit(number);
        round.take(number);
    }
    for (std::uint64_t number = 1000; number < 1040; ++number) {
        round.submit(number);
    }
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        Ring own(10);
        own.submit(77);
        task.wait_for_check();
        own.take(77);
        own.submit(78);
        own.take(78);
    });
    me.wait_for_check();
    empty.take_nothing();
    empty.submit(5);
    empty.take(5);
    for (std::uint64_t number = 25; number < 100; ++number) {
        some.take(number);
    }
    some.take_nothing();
    for (std::uint64_t number = 1000; number < 1040; ++number) {
        round.take(number);
    }
    round.submit(2000);
    round.take(2000);
    round.take_nothing();
    empty.destroy();
    some.destroy();
    round.destroy();
    me.finish(child);
}
