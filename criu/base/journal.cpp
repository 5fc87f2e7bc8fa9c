// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/journal.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/base/printable.hpp"

namespace criu {
namespace {

/// Appends a field to a line. Bytes that could separate fields or lines become %XX, because fields contain file names.
void encode(std::string& line, std::string_view field) {
    for (const char c : field) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte >= 0x7f || c == '%')
            fmt::format_to(std::back_inserter(line), "%{:02x}", byte);
        else
            line += c;
    }
}

std::string decode(std::string_view field) {
    std::string out;
    for (std::size_t i = 0; i < field.size(); ++i) {
        std::array<std::byte, 1> byte;
        if (field[i] == '%' && parseHex(field.substr(i + 1, 2), byte)) {
            out += static_cast<char>(byte[0]);
            i += 2;
        } else {
            out += field[i];
        }
    }
    return out;
}

}  // namespace

std::vector<JournalLine> parseJournal(std::string_view text) {
    std::vector<JournalLine> lines;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        std::string_view rest = text.substr(0, end);
        text.remove_prefix(end + 1);
        JournalLine& line = lines.emplace_back();
        for (std::size_t space = rest.find(' '); space != std::string_view::npos; space = rest.find(' ')) {
            line.push_back(decode(rest.substr(0, space)));
            rest.remove_prefix(space + 1);
        }
        line.push_back(decode(rest));
    }
    return lines;
}

std::uint64_t numberOf(const std::string& field) {
    std::uint64_t number = 0;
    const char* const end = field.data() + field.size();
    if (field.empty() || std::from_chars(field.data(), end, number).ptr != end)
        fail("the journal is damaged: {} isn't a number", printable(field));
    return number;
}

void Journal::move(const std::function<UniqueFd(UniqueFd)>& mover) {
    if (!file_)
        return;
    file_ = mover(std::move(file_));
    directory_ = mover(std::move(directory_));
}

void Journal::open(UniqueFd file, UniqueFd directory) noexcept {
    file_ = std::move(file);
    directory_ = std::move(directory);
}

void Journal::record(std::initializer_list<std::string_view> fields) noexcept {
    if (file_)
        write(fields);
}

void Journal::record(const JournalLine& fields) noexcept {
    if (file_)
        write(fields);
}

template <typename Fields>
void Journal::write(const Fields& fields) noexcept {
    try {
        std::string line;
        for (const std::string_view field : fields) {
            if (!line.empty())
                line += ' ';
            encode(line, field);
        }
        line += '\n';
        (void)!::write(file_.get(), line.data(), line.size());
    } catch (const std::exception&) {
        return;
    }
}

void Journal::close() noexcept {
    file_.reset();
    directory_.reset();
}

}  // namespace criu
