// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/check/check.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "criu/base/json.hpp"
#include "criu/base/refusals.hpp"
#include "criu/options/similar_name.hpp"

namespace criu::engine {
namespace {

/// Returns false if the feature is missing, and logs the reason at `level`.
bool supported(const FeatureProbe& feature, LogLevel level, Log& log) {
    try {
        if (feature.supported())
            return true;
        log.line(level, nullptr, fmt::format("feature {} is missing", feature.name));
    } catch (const Error& error) {
        const std::source_location& where = error.where();
        log.line(level, &where, fmt::format("feature {} is missing: {}", feature.name, error.what()));
    }
    return false;
}

/// Returns the category of features with this kernel::CheckClass. Returns nothing if `criu check` doesn't show such
/// features.
std::optional<FeatureCategory> categoryOf(kernel::CheckClass check) noexcept {
    switch (check) {
        case kernel::CheckClass::Extra:
            return FeatureCategory::Extra;
        case kernel::CheckClass::Experimental:
            return FeatureCategory::Experimental;
        case kernel::CheckClass::ByName:
            return FeatureCategory::OnRequest;
        case kernel::CheckClass::Internal:
            return std::nullopt;
    }
    return std::nullopt;
}

bool isThere(const FeatureProbe& device) {
    try {
        return device.matters();
    } catch (const Error&) {
        return false;
    }
}

bool wanted(const FeatureProbe& feature, const model::Options& options) {
    switch (feature.category) {
        case FeatureCategory::Extra:
            return options.checkExtra;
        case FeatureCategory::Experimental:
            return options.checkExperimental;
        case FeatureCategory::OnRequest:
            return false;
        case FeatureCategory::Device:
            return options.checkExtra && isThere(feature);
    }
    return false;
}

/// Returns why the system lacks the feature; the texts may be empty. Returns nothing if the system has the feature.
std::optional<Refusal> lackOf(const FeatureProbe& feature) {
    try {
        return feature.supported() ? std::nullopt : std::optional<Refusal>(Refusal{});
    } catch (const Error&) {
        return Refusal::current();
    }
}

std::string answer(std::string_view name, const std::optional<Refusal>& lack) {
    if (!lack)
        return fmt::format("{} is supported\n", name);
    return fmt::format("{} is not supported\n{}", name,
                       lack->reason.empty() ? "" : fmt::format("  {}\n", lack->text()));
}

std::string_view categoryName(FeatureCategory category) noexcept {
    switch (category) {
        case FeatureCategory::Extra:
            return "extra";
        case FeatureCategory::Experimental:
            return "experimental";
        case FeatureCategory::OnRequest:
            return "on-request";
        case FeatureCategory::Device:
            return "device";
    }
    return "";
}

void addLack(JsonWriter& out, const std::optional<Refusal>& lack) {
    out.add("supported", !lack);
    if (lack)
        lack->addTo(out);
}

/// Adds a feature to a list of the document. Returns true if the system has the feature.
bool addFeature(JsonWriter& out, const FeatureProbe& feature) {
    const std::optional<Refusal> lack = lackOf(feature);
    out.beginObject().add("name", feature.name).add("purpose", feature.purpose);
    out.add("category", categoryName(feature.category));
    addLack(out, lack);
    out.end();
    return !lack;
}

/// Adds a requirement of all dumps and restores. Returns true if the system meets it.
bool addBasic(JsonWriter& out, const BasicCheck& basic) {
    std::optional<Refusal> lack;
    try {
        basic.test();
    } catch (const Error&) {
        lack = Refusal::current();
    }
    out.beginObject().add("name", basic.what);
    addLack(out, lack);
    out.end();
    return !lack;
}

[[noreturn]] void refuseName(std::string_view name, std::span<const FeatureProbe> features) {
    std::vector<std::string> names;
    for (const FeatureProbe& feature : features)
        names.emplace_back(feature.name);
    names.emplace_back("list");
    fail("unknown feature '{}'{}; use one of: {} (criu check --feature list explains them)", name,
         options::didYouMean(name, names), fmt::join(names, ", "));
}

/// Returns true if `part` is the feature `name` or one of its parts.
bool isPartOf(const FeatureProbe& part, std::string_view name) {
    return part.name == name ||
           (part.category == FeatureCategory::Device && part.name.starts_with(fmt::format("{}_", name)));
}

/// Runs the command with --json. Logs nothing.
int checkAsJson(const model::Options& options, std::span<const BasicCheck> basics,
                std::span<const FeatureProbe> features, std::string& output) {
    const auto named = std::find_if(features.begin(), features.end(),
                                    [&](const FeatureProbe& feature) { return feature.name == options.feature; });
    const bool all = options.feature == "list";
    if (options.feature && !all && named == features.end())
        refuseName(*options.feature, features);
    bool good = true;
    JsonWriter out;
    out.beginObject().add("command", "check");
    if (!options.feature) {
        out.beginList("basics");
        for (const BasicCheck& basic : basics)
            good = addBasic(out, basic) && good;
        out.end();
    }
    out.beginList("features");
    for (const FeatureProbe& feature : features) {
        const bool asked = options.feature ? isPartOf(feature, *options.feature) : wanted(feature, options);
        if (!all && !asked)
            continue;
        const bool has = addFeature(out, feature);
        // A list is no demand, and neither is a part of a device's feature.
        good = good && (has || all || (options.feature && feature.name != options.feature));
    }
    out.end();
    if (named != features.end() && good && named->details) {
        out.beginList("details");
        for (const std::string& line : named->details())
            out.add("", line);
        out.end();
    }
    output = out.add("good", good).end().take();
    return good ? 0 : 1;
}

/// Adds a line for each feature to `output`: whether the system has the feature, and its use. A second line says why
/// the feature is missing.
int listAll(std::span<const FeatureProbe> features, std::string& output) {
    std::size_t width = 0;
    for (const FeatureProbe& feature : features)
        width = std::max(width, feature.name.size());
    for (const FeatureProbe& feature : features) {
        const auto lack = lackOf(feature);
        output +=
            fmt::format("{:<{}}  {:<9}  {}\n", feature.name, width, lack ? "missing" : "supported", feature.purpose);
        if (lack && !lack->reason.empty())
            output += fmt::format("{:<{}}    {}\n", "", width, lack->text());
    }
    return 0;
}

int checkOne(std::string_view name, std::span<const FeatureProbe> features, std::string& output) {
    if (name == "list")
        return listAll(features, output);
    for (const FeatureProbe& feature : features) {
        if (feature.name != name)
            continue;
        const auto lack = lackOf(feature);
        const bool there = !lack;
        output = answer(name, lack);
        if (there && feature.category == FeatureCategory::Device)
            for (const FeatureProbe& part : features)
                if (part.name.starts_with(fmt::format("{}_", name)))
                    output += answer(part.name, lackOf(part));
        if (there && feature.details)
            for (const std::string& line : feature.details())
                output += line + '\n';
        return there ? 0 : 1;
    }
    refuseName(name, features);
}

}  // namespace

std::vector<FeatureProbe> featureProbes(kernel::Features& features) {
    std::vector<FeatureProbe> probes;
    for (const kernel::FeatureInfo& info : kernel::featureTable()) {
        const std::optional<FeatureCategory> category = categoryOf(info.check);
        if (!category)
            continue;
        const auto test = [&features, feature = info.feature] {
            features.require(feature);
            return true;
        };
        probes.push_back({std::string(info.name), std::string(info.purpose), *category, test});
    }
    return probes;
}

int check(const model::Options& options, std::span<const BasicCheck> basics, std::span<const FeatureProbe> features,
          Log& log, std::string& output) {
    if (options.json)
        return checkAsJson(options, basics, features, output);
    if (options.feature)
        return checkOne(*options.feature, features, output);

    unsigned lacking = 0;
    for (const BasicCheck& basic : basics) {
        try {
            const ErrorContext context([&] { return basic.what; });
            basic.test();
            log.debug("{}: fine", basic.what);
        } catch (const Error& error) {
            log.failure(error);
            ++lacking;
        }
    }
    unsigned missing = 0;
    for (const FeatureProbe& feature : features)
        if (wanted(feature, options) && !supported(feature, LogLevel::Warning, log))
            ++missing;

    if (lacking != 0)
        output = fmt::format("This system can't dump and restore: {} of {} basic things are missing.\n", lacking,
                             basics.size());
    else if (missing != 0)  // keep the first words of both messages: programs that call criu compare them
        output = fmt::format(
            "Looks good but some kernel features are missing:\n{} that some programs need to be dumped or restored.\n",
            missing == 1 ? "1 feature" : fmt::format("{} features", missing));
    else
        output = "Looks good.\n";
    return lacking + missing == 0 ? 0 : 1;
}

}  // namespace criu::engine
