// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "criu/model/options.hpp"
#include "criu/options/command.hpp"

namespace criu::options {

enum class Argument : std::uint8_t {
    None,
    Required,
    Optional,  ///< attached only: -v4, --cpu-cap=fpu
};

/// Whether --no-NAME exists.
enum class NoForm : bool { Absent, Present };

/// How far this build is with an option.
enum class Support : std::uint8_t {
    Built,
    Moot,     ///< accepted: it tunes something that is refused, or can't occur yet, by itself
    Missing,  ///< refused with the commands it applies to
    Removed,  ///< refused always: gone from criu long ago
};

enum class Section : std::uint8_t {
    General,
    Run,
    Files,
    Mounts,
    Network,
    Cgroups,
    Security,
    Memory,
    Transfer,
    Devices,
    Probing
};

/// An option as it was given.
struct Given {
    bool negated = false;
    std::optional<std::string_view> value;
};

struct Request;

/// Where an option stands in a request: the fields of criu_opts (images/rpc.proto) that belong to it.
class RequestPart {
public:
    /// Stores what a request says; it finds out itself whether the request says anything. Throws Error when that is
    /// malformed, or not allowed to this client.
    using Read = void (*)(model::Options&, const Request&);

    /// Requests don't have it.
    constexpr RequestPart() noexcept = default;
    /// A field that means what the option's argument means: a bool what NAME and no-NAME do; a number or a text, or
    /// each of several texts, what NAME with this argument does.
    constexpr RequestPart(const char* field) noexcept : fields_{field, {}} {}
    /// Fields of another form.
    constexpr RequestPart(const char* field, Read function) noexcept : fields_{field, {}}, read_(function) {}
    constexpr RequestPart(const char* field, const char* other, Read function) noexcept
        : fields_{field, other}, read_(function) {}

    /// Names; "" is none.
    [[nodiscard]] constexpr const std::array<std::string_view, 2>& fields() const noexcept { return fields_; }
    /// Null: the only field means what the option's argument means.
    [[nodiscard]] constexpr Read read() const noexcept { return read_; }

    /// Clients with fewer rights than criu may give the option: all it says is about their own processes, and with it
    /// criu does nothing that they couldn't do. It is about no path, no program and nothing that others have.
    [[nodiscard]] constexpr bool forClients() const noexcept { return forClients_; }
    /// The same part, with that.
    [[nodiscard]] constexpr RequestPart allowedToClients() const noexcept {
        RequestPart part = *this;
        part.forClients_ = true;
        return part;
    }

private:
    std::array<std::string_view, 2> fields_{};
    Read read_ = nullptr;
    bool forClients_ = false;
};

/// One option. The same row serves the command line, configuration files, requests and help.
struct OptionRow {
    Section section;
    std::string_view name;  ///< long name without dashes
    char letter;            ///< short name, 0 if none
    Argument argument;
    std::string_view placeholder;  ///< the argument in help texts
    NoForm noForm;
    CommandSet commands;  ///< where it has an effect; elsewhere it is accepted without one
    Support support;
    std::string_view help;
    /// Stores the value; throws Error when it is malformed.
    void (*apply)(model::Options&, const Given&);
    RequestPart request = {};
};

/// All options, ordered by section.
std::span<const OptionRow> optionTable() noexcept;

std::string_view sectionTitle(Section section) noexcept;

}  // namespace criu::options
