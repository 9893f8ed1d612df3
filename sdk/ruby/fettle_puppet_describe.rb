# frozen_string_literal: true

# Writes what the spec of an ExternalType has about a Puppet type as JSON, for fettle type new:
#
#     fettle_puppet_describe.rb TYPE

require_relative 'fettle_puppet'

module Fettle
  # Describes types for the scaffold of an external type.
  module Describe
    KINDS = { 'file' => 'File', 'package' => 'Package', 'user' => 'User', 'group' => 'Group', 'service' => 'SystemService' }.freeze
    BEHAVIOURS = { nil => nil, namevar: 'Namevar', parameter: 'Parameter', init_only: 'InitOnly', read_only: 'ReadOnly' }.freeze
    RELATIONS = { autorequire: 'require', autobefore: 'before', autonotify: 'notify', autosubscribe: 'subscribe' }.freeze

    module_function

    def spec(name, type)
      api = type.respond_to?(:type_definition)
      found = api ? resource_api(type) : classic(type)
      needs = { commands: %w[ruby puppet], files: needed(name) + (api ? $LOADED_FEATURES.grep(%r{/puppet/resource_api\.rb\z}) : []), remedy: "install the packages puppet-agent#{' and ruby-puppet-resource-api' if api}" }
      found.merge(providers: [{ name: 'puppet', command: ['./fettle_puppet.rb', name], needs: needs.reject { |_, v| v.empty? } }]).compact
    end

    # needed returns the directory of the module, if hosts have it from elsewhere.
    def needed(name)
      file = MODULES.flat_map { |dir| Dir.glob(File.join(dir, '*', 'lib', 'puppet', 'type', "#{name}.rb")) }.first
      file ? [file.split('/lib/puppet/').first] : []
    end

    def resource_api(type)
      definition = type.type_definition
      attributes = definition.attributes.reject { |name, _| name == :ensure }
      {
        description: document(definition.definition[:desc]), ensure: ensure_of(definition),
        attributes: attributes.map { |name, options| attribute(name, options) },
        relations: RELATIONS.flat_map { |auto, relation| relations(relation, definition.definition[auto]) },
        requests: definition.feature?('canonicalize') ? %w[List Canonicalize] : %w[List]
      }
    end

    def ensure_of(definition)
      return unless definition.ensurable?

      values = Puppet::ResourceApi::DataTypeHandling.parse_puppet_type(:ensure, definition.attributes[:ensure][:type]).values - ['absent']
      { values: values, default: values.first }
    end

    def attribute(name, options)
      type = Puppet::ResourceApi::DataTypeHandling.parse_puppet_type(name, options[:type])
      required = !type.is_a?(Puppet::Pops::Types::POptionalType) && !options.key?(:default) && %i[read_only namevar].none?(options[:behaviour])
      schema = schema(type)
      {
        name: name, description: sentence(name, options[:desc], options[:type]), behaviour: BEHAVIOURS[options[:behaviour]], schema: schema,
        required: required || nil, default: options.key?(:default) ? JSON.generate(options[:default]) : nil,
        sensitive: ResourceApi.sensitive?(type) || options[:sensitive] || (Fettle.sensitive_name?(name) && options[:behaviour] != :namevar) || nil,
        match: schema[:type] == 'array' ? 'Ordered' : nil
      }.compact
    end

    def relations(relation, declared)
      (declared || {}).flat_map do |kind, names|
        next [] unless KINDS.key?(kind.to_s.downcase)

        [names].flatten.map { |name| { relation: relation, kind: KINDS[kind.to_s.downcase], name: name } }
      end
    end

    # schema returns a structural schema. What it cannot express is checked by Puppet.
    def schema(type)
      t = Puppet::Pops::Types
      case type
      when t::PTypeAliasType then schema(type.resolved_type)
      when t::POptionalType, t::PNotUndefType then schema(type.type)
      when t::PSensitiveType then schema(type.type)
      when t::PEnumType then { type: 'string', enum: type.values.reject(&:empty?) }
      when t::PPatternType then pattern(type)
      when t::PIntegerType then { type: 'integer', minimum: type.from, maximum: type.to }.compact
      when t::PFloatType, t::PNumericType then { type: 'number' }
      when t::PBooleanType then { type: 'boolean' }
      when t::PArrayType then { type: 'array', items: schema(type.element_type), minItems: type.size_type&.from, maxItems: type.size_type&.to }.compact
      when t::PStructType then struct(type)
      when t::PHashType then hash_schema(type)
      when t::PVariantType then variant(type)
      when t::PStringType then { type: 'string', minLength: type.size_type_or_value.is_a?(t::PIntegerType) ? type.size_type_or_value.from : nil }.compact
      else { type: 'string' }
      end
    end

    def pattern(type)
      sources = type.patterns.map { |p| p.regexp.source.gsub('\A', '^').gsub(/\\[zZ]/, '$') }
      return { type: 'string' } if sources.size > 1 || sources.first.match?(/\(\?[<=!>#]|\\[hHRpPGkgX]|[*+?]\+/)

      { type: 'string', pattern: sources.first }
    end

    def struct(type)
      {
        type: 'object', properties: type.elements.to_h { |e| [e.name, schema(e.value_type)] },
        required: type.elements.reject { |e| e.key_type.is_a?(Puppet::Pops::Types::POptionalType) }.map(&:name)
      }.reject { |key, value| key == :required && value.empty? }
    end

    def hash_schema(type)
      return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } if type.value_type.instance_of?(Puppet::Pops::Types::PAnyType)

      { type: 'object', additionalProperties: schema(type.value_type) }
    end

    # variant joins enums; other alternatives must have the same type, or are text.
    def variant(type)
      all = type.types.map { |t| schema(t) }
      return all.first.merge(enum: all.flat_map { |s| s[:enum] }.uniq) if all.all? { |s| s[:enum] }

      kinds = all.map { |s| s[:type] }.uniq
      return { type: kinds.first } if kinds.size == 1 && %w[array object].none?(kinds.first)

      all.find { |s| %w[array object].include?(s[:type]) } && kinds.size == 1 ? all.first : { type: 'string' }
    end

    def classic(type)
      require 'puppet/parameter/boolean'
      names = type.key_attributes | type.properties.map(&:name) | type.parameters
      names -= %i[ensure provider] + Puppet::Type.metaparams
      requests = []
      requests << 'Refresh' if type.method_defined?(:refresh)
      requests << 'List' if Fettle.attempt { type.instances; {} }.empty?
      {
        description: document(type.doc), ensure: classic_ensure(type), attributes: names.map { |name| classic_attribute(type, name) },
        relations: RELATIONS.flat_map { |auto, relation| classic_relations(type, auto, relation) }, requests: requests
      }
    end

    def classic_ensure(type)
      return unless type.validattr?(:ensure)

      values = type.attrclass(:ensure).value_collection.values.map(&:to_s)
      values = values.select { |v| v.match?(/\A[a-z][A-Za-z0-9_-]*\z/) && !%w[absent purged false true].include?(v) }
      { values: values, default: (%w[present] & values).first }.compact
    end

    def classic_attribute(type, name)
      klass = type.attrclass(name)
      namevar = type.key_attributes.include?(name)
      schema = classic_schema(klass, Classic.new(type).list?(name))
      {
        name: name, description: sentence(name, klass.doc), schema: schema,
        behaviour: BEHAVIOURS[namevar ? :namevar : (type.attrtype(name) == :property ? nil : :parameter)],
        sensitive: (Fettle.sensitive_name?(name) && !namevar) || nil, match: schema[:type] == 'array' ? 'Ordered' : nil
      }.compact
    end

    def classic_schema(klass, list)
      return { type: 'boolean' } if klass.ancestors.include?(Puppet::Parameter::Boolean)

      one = value_schema(klass.value_collection)
      list ? { type: 'array', items: one } : one
    end

    def value_schema(collection)
      values = collection.values.map(&:to_s)
      return { type: 'string' } if values.empty? || !collection.instance_variable_get(:@regexes).to_a.empty?

      values.sort == %w[false true] ? { type: 'boolean' } : { type: 'string', enum: values }
    end

    # An object that answers with the names of attributes, to see which ones a block uses.
    class Probe
      def [](name)
        "$#{name}"
      end
    end

    def classic_relations(type, auto, relation)
      found = []
      type.send("each#{auto}") do |kind, block|
        names = Fettle.attempt { [Probe.new.instance_eval(&block)].flatten }
        next unless KINDS.key?(kind.to_s) && names.is_a?(Array)

        names.grep(/\A\$[a-z_]+\z/).each { |name| found << { relation: relation, kind: KINDS[kind.to_s], name: name } }
      end
      found.uniq
    end

    # document returns a description: its first sentence is the summary.
    def document(doc)
      text = text(doc).sub(/\A@summary /, '')
      first, rest = text.match(/\A(.*?\.)(?: +(.*))?\z/m)&.captures || [text, nil]
      [first.empty? ? 'Manages resources of a Puppet type.' : first, rest].compact.join("\n\n")[0, 8000]
    end

    def sentence(name, doc, type = nil)
      text = text(doc)[0, 2000]
      text = "The attribute #{name} of Puppet's." if text.empty?
      type ? "#{text} Puppet's type is #{text(type)}." : text
    end

    def text(doc)
      doc.to_s.gsub(/\s+/, ' ').strip
    end
  end
end

begin
  name = ARGV.fetch(0)
  Fettle.with_puppet do
    type = Puppet::Type.type(name.to_sym)
    raise "Puppet has no type #{name}: install the module that has it, or use --module" if type.nil?

    Fettle.write(Fettle::Describe.spec(name, type))
  end
rescue StandardError, ScriptError => e
  $stderr.puts(e.message)
  exit(1)
end
