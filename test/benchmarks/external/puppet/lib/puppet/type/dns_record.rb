# frozen_string_literal: true

require 'puppet/resource_api'

Puppet::ResourceApi.register_type(
  name: 'dns_record',
  docs: 'The A records of a name in the zone example.org of the PowerDNS server on this machine.',
  features: ['simple_get_filter'],
  attributes: {
    ensure: { type: 'Enum[present, absent]', desc: 'Whether the records exist.', default: 'present' },
    name: { type: 'String[1]', desc: 'The full domain name.', behaviour: :namevar },
    values: { type: 'Array[String]', desc: 'The addresses.' },
  },
)
