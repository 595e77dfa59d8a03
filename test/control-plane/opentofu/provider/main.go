// A provider with a data source and an ephemeral resource that POST and show the answer, as `http` and `restful` have
// them: those are not served as modules, and how often OpenTofu asks, and what it keeps, is for OpenTofu to say.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	ephemeralschema "github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Call is what both of them take and give.
type Call struct {
	URL    types.String `tfsdk:"url"`
	Answer types.String `tfsdk:"answer"`
}

func (c *Call) send(ctx context.Context) error {
	body := strings.NewReader(`{"kind":"CredentialRequest"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL.ValueString(), body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	c.Answer = types.StringValue(string(answer))
	return err
}

type caller struct{}

func (caller) Metadata(_ context.Context, _ provider.MetadataRequest, out *provider.MetadataResponse) {
	out.TypeName = "caller"
}
func (caller) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (caller) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (caller) Resources(context.Context) []func() resource.Resource                              { return nil }
func (caller) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return dataPost{} }}
}
func (caller) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return ephemeralPost{} }}
}

type dataPost struct{}

func (dataPost) Metadata(_ context.Context, _ datasource.MetadataRequest, out *datasource.MetadataResponse) {
	out.TypeName = "caller_post"
}
func (dataPost) Schema(_ context.Context, _ datasource.SchemaRequest, out *datasource.SchemaResponse) {
	out.Schema = dataschema.Schema{Attributes: map[string]dataschema.Attribute{
		"url":    dataschema.StringAttribute{Required: true},
		"answer": dataschema.StringAttribute{Computed: true, Sensitive: true},
	}}
}
func (dataPost) Read(ctx context.Context, in datasource.ReadRequest, out *datasource.ReadResponse) {
	var call Call
	out.Diagnostics.Append(in.Config.Get(ctx, &call)...)
	if err := call.send(ctx); err != nil {
		out.Diagnostics.AddError("no answer", err.Error())
	}
	out.Diagnostics.Append(out.State.Set(ctx, &call)...)
}

type ephemeralPost struct{}

func (ephemeralPost) Metadata(_ context.Context, _ ephemeral.MetadataRequest, out *ephemeral.MetadataResponse) {
	out.TypeName = "caller_post"
}
func (ephemeralPost) Schema(_ context.Context, _ ephemeral.SchemaRequest, out *ephemeral.SchemaResponse) {
	out.Schema = ephemeralschema.Schema{Attributes: map[string]ephemeralschema.Attribute{
		"url":    ephemeralschema.StringAttribute{Required: true},
		"answer": ephemeralschema.StringAttribute{Computed: true, Sensitive: true},
	}}
}
func (ephemeralPost) Open(ctx context.Context, in ephemeral.OpenRequest, out *ephemeral.OpenResponse) {
	var call Call
	out.Diagnostics.Append(in.Config.Get(ctx, &call)...)
	if err := call.send(ctx); err != nil {
		out.Diagnostics.AddError("no answer", err.Error())
	}
	out.Diagnostics.Append(out.Result.Set(ctx, &call)...)
}

func main() {
	options := providerserver.ServeOpts{Address: "example.org/test/caller"}
	if err := providerserver.Serve(context.Background(), func() provider.Provider { return caller{} }, options); err != nil {
		log.Fatal(err)
	}
}
