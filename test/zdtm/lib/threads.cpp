// SPDX-License-Identifier: GPL-2.0-only
#include "threads.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <climits>

#include "zdtm.hpp"

namespace zdtm {

void futex_wait(const std::atomic<int>& word, int value) {
    while (word.load() == value) {
        if (syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0) != 0) {
            CHECK(errno == EAGAIN || errno == EINTR, "futex: %s", strerror(errno));
        }
    }
}

void futex_wake(const std::atomic<int>& word) {
    SYS(syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
}

Threads::Threads(unsigned count, std::function<void(unsigned)> prepare, std::function<void(unsigned)> check)
    : body_([prepare = std::move(prepare), check = std::move(check)](unsigned index, Threads& all) {
          prepare(index);
          all.arrive();
          all.wait_release();
          check(index);
      }) {
    start(count);
}

Threads::Threads(unsigned count, std::function<void(unsigned, Threads&)> body) : body_(std::move(body)) {
    start(count);
}

void Threads::start(unsigned count) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    handles_.resize(count);
    for (unsigned i = 0; i < count; ++i) {
        starts_.push_back(std::make_unique<Start>(Start{this, i}));
        const int error = pthread_create(&handles_[i], &attributes, &Threads::run, starts_.back().get());
        CHECK(error == 0, "thread %u: %s", i, strerror(error));
    }
    wait_arrived();
}

void* Threads::run(void* argument) {
    const auto* const start = static_cast<const Start*>(argument);
    start->all->body_(start->index, *start->all);
    return nullptr;
}

void Threads::arrive() {
    ++arrived_;
    futex_wake(arrived_);
}

void Threads::wait_release() const {
    futex_wait(released_, 0);
}

void Threads::wait_arrived() const {
    for (int now = arrived_.load(); now < static_cast<int>(starts_.size()); now = arrived_.load()) {
        futex_wait(arrived_, now);
    }
}

void Threads::finish() {
    released_ = 1;
    futex_wake(released_);
    for (const pthread_t handle : handles_) {
        const int error = pthread_join(handle, nullptr);
        CHECK(error == 0, "pthread_join: %s", strerror(error));
    }
}

}  // namespace zdtm
