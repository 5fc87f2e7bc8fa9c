// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

#include "criu/pie/program.hpp"

namespace criu::pie {

/// Data for another process, which criu composes and then copies in one piece. put() and reserve() return addresses in
/// the other process, the target.
class RemoteData {
public:
    /// `base` is the address of the first byte in the target, aligned to 16 bytes.
    explicit RemoteData(std::uint64_t base) : base_(base) {}

    /// Copies bytes and returns their address in the target.
    std::uint64_t put(std::span<const std::byte> bytes) {
        const std::uint64_t at = reserve(bytes.size());
        if (!bytes.empty())
            std::memcpy(bytes_.data() + (at - base_), bytes.data(), bytes.size());
        return at;
    }
    template <typename T>
    requires std::is_trivially_copyable_v<T> std::uint64_t put(const T& value) {
        return put(std::as_bytes(std::span(&value, 1)));
    }
    std::uint64_t putString(std::string_view text) {
        const std::uint64_t at = reserve(text.size() + 1);
        std::memcpy(bytes_.data() + (at - base_), text.data(), text.size());
        return at;
    }

    /// Reserves `size` zeroed bytes, aligned to 16 bytes, and returns their address in the target.
    std::uint64_t reserve(std::size_t size) {
        const std::uint64_t at = base_ + bytes_.size();
        bytes_.resize((bytes_.size() + size + 15) & ~std::size_t{15});
        return at;
    }

    /// Returns the local copy of the data at a target address that put() or reserve() returned. The reference is valid
    /// until the next put() or reserve(). Throws std::out_of_range for all other addresses, so that wrong addresses
    /// from the target can't harm criu.
    template <typename T>
    T& local(std::uint64_t address) {
        const std::uint64_t offset = address - base_;
        if (address < base_ || offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
            throw std::out_of_range("an address outside of the data of a program");
        return *reinterpret_cast<T*>(bytes_.data() + offset);
    }

    [[nodiscard]] std::uint64_t base() const noexcept { return base_; }
    [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }

private:
    std::uint64_t base_;
    std::vector<std::byte> bytes_;
};

/// Steps of one thread's program.
class StepList {
public:
    template <typename... Args>
    Step& call(Subject subject, std::uint64_t detail, long number, Args... args) {
        static_assert(sizeof...(Args) <= 6);
        Step& step = add(Op::Syscall, subject, detail, args...);
        step.number = number;
        return step;
    }

    /// Adds a call of the 32-bit interface; see Op::CompatCall.
    template <typename... Args>
    Step& compatCall(Subject subject, std::uint64_t detail, long number, Args... args) {
        static_assert(sizeof...(Args) <= 5);
        Step& step = add(Op::CompatCall, subject, detail, args...);
        step.number = number;
        return step;
    }

    template <typename... Args>
    Step& add(Op op, Subject subject, std::uint64_t detail, Args... args) {
        Step& step = steps_.emplace_back();
        step.op = op;
        step.subject = subject;
        step.detail = detail;
        std::size_t next = 0;
        ((step.args[next++] = static_cast<std::uint64_t>(args)), ...);
        return step;
    }

    /// Returns the number of steps, which is the index of the next step. The caller finds the result of a step by its
    /// index.
    [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }

    /// Puts the steps and the header of the program into `data`. Returns the address of the Program in the target.
    std::uint64_t place(RemoteData& data, std::uint64_t failure, std::uint64_t failWord, bool parkAtEnd) const {
        Program head;
        head.count = static_cast<std::uint32_t>(steps_.size());
        head.steps = data.put(std::as_bytes(std::span(steps_)));
        head.failure = failure;
        head.failWord = failWord;
        head.parkAtEnd = parkAtEnd ? 1 : 0;
        return data.put(head);
    }

private:
    std::vector<Step> steps_;
};

}  // namespace criu::pie
